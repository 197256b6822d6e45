//! People are told: the right ones, once, and no mail ever decides anything.

mod account;
mod deliveries;
mod given_up;
mod killed;
mod leaving;
mod letters;
mod pace;
mod server;
mod slow;
mod tidied;
mod workers;

use std::time::{Duration, Instant};

use countersign::notify::Notifier;
use tokio_util::sync::CancellationToken;

use crate::support::{Backend, Mail, Post, TestApp};

/// A server that sends its mail through a post office.
async fn with_post(backend: Backend, post: &Post) -> TestApp {
    TestApp::with(backend, |config| post.set_in(config)).await
}

/// Has all that is due by now told and delivered, and waits for what the server's own workers took of it.
async fn work(app: &TestApp) {
    work_as(&app.inner.notifier).await;
    until_marked(app).await;
}

/// Has one worker tell and deliver all that is due by now, and nobody has taken.
async fn work_as(notifier: &Notifier) {
    let stop = CancellationToken::new();
    notifier.plan_all(&stop).await.unwrap();
    notifier.deliver_all(&stop).await.unwrap();
}

/// Waits until so many mails were taken, and marked as sent, and answers them all.
async fn mails(app: &TestApp, post: &Post, count: usize) -> Vec<Mail> {
    let mails = post.mails_when(count).await;
    until_marked(app).await;
    mails
}

/// Waits until nobody, the server's own workers included, has a mail under way.
async fn until_marked(app: &TestApp) {
    let patience = Instant::now() + Duration::from_secs(30);
    while app.rival().count("outbox", "lease IS NOT NULL") > 0 {
        assert!(Instant::now() < patience, "a mail is never marked");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// To whom, about what, sorted.
fn told(mails: &[Mail]) -> Vec<String> {
    let mut told: Vec<_> =
        mails.iter().map(|mail| format!("{}: {}", mail.to.join(" "), mail.subject)).collect();
    told.sort();
    told
}
