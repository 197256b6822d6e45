//! People are told: the right ones, once, and no mail ever decides anything.

mod account;
mod killed;
mod leaving;
mod letters;
mod pace;
mod server;
mod workers;

use countersign::notify::Notifier;
use tokio_util::sync::CancellationToken;

use crate::support::{Backend, Mail, Post, TestApp};

/// A server that sends its mail through a post office.
async fn with_post(backend: Backend, post: &Post) -> TestApp {
    TestApp::with(backend, |config| post.set_in(config)).await
}

/// Lets the workers tell and deliver all that is due by now, and waits until they have.
async fn work(notifier: &Notifier) {
    let stop = CancellationToken::new();
    notifier.plan_all(&stop).await.unwrap();
    notifier.deliver_all(&stop).await.unwrap();
}

/// To whom, about what, sorted.
fn told(mails: &[Mail]) -> Vec<String> {
    let mut told: Vec<_> =
        mails.iter().map(|mail| format!("{}: {}", mail.to.join(" "), mail.subject)).collect();
    told.sort();
    told
}
