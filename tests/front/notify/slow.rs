//! Deliveries that take their time: their lease is kept, and a process that stops waits for none of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign::notify::{Channel, Notifier};
use countersign::store::people::Role;
use tokio_util::sync::CancellationToken;

use crate::support::held::{Gate, registry};
use crate::support::{Backend, Fault, Post, TestApp, backends, shop};

backends!(a_lease_is_kept_while_a_mail_is_written_and_while_it_is_handed_over);
async fn a_lease_is_kept_while_a_mail_is_written_and_while_it_is_handed_over(backend: &Backend) {
    let (gate, post) = (Gate::in_reads(), Post::open());
    let (app, notifier) = asked_once(*backend, &gate, &post).await;
    gate.shut();
    post.does(Fault::Hang);
    let working = tokio::spawn(async move { notifier.deliver_all(&CancellationToken::new()).await });
    gate.until_reached().await;
    until_renewed(&app).await;
    gate.open();
    post.mails_when(1).await;
    until_renewed(&app).await;
    post.let_go();
    working.await.unwrap().unwrap();
    assert_eq!(app.rival().count("outbox", "status = 'sent' AND attempts = 1"), 1);
}

backends!(a_process_that_stops_waits_for_no_mail_that_is_being_written);
async fn a_process_that_stops_waits_for_no_mail_that_is_being_written(backend: &Backend) {
    let (gate, post) = (Gate::in_reads(), Post::open());
    let (app, notifier) = asked_once(*backend, &gate, &post).await;
    gate.shut();
    let stop = CancellationToken::new();
    let working = tokio::spawn({
        let stop = stop.clone();
        async move { notifier.deliver_all(&stop).await }
    });
    gate.until_reached().await;
    stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(8), working).await;
    let handed_back = app.rival().count("outbox", "status = 'waiting' AND lease IS NULL");
    gate.open();
    assert!(ended.is_ok(), "it does not stop");
    assert_eq!(handed_back, 1);
    assert_eq!(app.rival().count("outbox", "last_error IS NOT NULL"), 0, "to stop is no failure");
    assert_eq!(post.mails().len(), 0);
}

backends!(what_was_taken_is_marked_as_soon_as_the_database_is_back);
async fn what_was_taken_is_marked_as_soon_as_the_database_is_back(backend: &Backend) {
    let (gate, post) = (Gate::in_reads(), Post::open());
    let (app, notifier) = asked_once(*backend, &gate, &post).await;
    post.does(Fault::Hang);
    let working = tokio::spawn(async move { notifier.deliver_all(&CancellationToken::new()).await });
    post.mails_when(1).await;
    let mut lock = app.rival();
    lock.begin("UPDATE outbox SET attempts = attempts");
    post.let_go();
    // Longer than anybody waits for a lock.
    tokio::time::sleep(Duration::from_secs(7)).await;
    lock.run("ROLLBACK");
    working.await.unwrap().unwrap();
    assert_eq!(app.rival().count("outbox", "status = 'sent' AND attempts = 1"), 1);
    assert_eq!(post.mails().len(), 1);
}

/// An approver, a request that they are to be told of, and a worker that does what it is told.
async fn asked_once(backend: Backend, gate: &Gate, post: &Post) -> (TestApp, Notifier) {
    let app = TestApp::with_registry(backend, registry(gate)).await;
    app.person(Role::Approver).await;
    app.order("#1001", 50_000).await;
    app.ask("request_refund", shop::refund("1001", 100)).await;
    let mut config = app.inner.config.clone();
    post.set_in(&mut config);
    let mailer: Arc<dyn Channel> = Arc::new(config.mailer().unwrap().unwrap());
    let (gate, secret) = (app.inner.gate.clone(), app.inner.auth.secret.clone());
    let notifier = Notifier::new(gate, secret, vec![mailer], Arc::new(|_: &str, _| {}));
    notifier.plan_all(&CancellationToken::new()).await.unwrap();
    (app, notifier)
}

/// Waits until a worker prolongs its lease.
async fn until_renewed(app: &TestApp) {
    let leased = "SELECT CAST(leased_until AS TEXT) AS t FROM outbox";
    let (before, patience) = (app.rival().texts(leased), Instant::now() + Duration::from_secs(15));
    while app.rival().texts(leased) == before {
        assert!(Instant::now() < patience, "a lease is never renewed");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
