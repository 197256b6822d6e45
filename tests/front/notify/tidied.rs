//! What is kept, and for how long.

use chrono::TimeDelta;
use countersign::store::people::Role;

use super::work_as;
use crate::support::{Backend, Fault, Post, TestApp, backends, shop};

backends!(what_came_to_an_end_is_kept_for_thirty_days);
async fn what_came_to_an_end_is_kept_for_thirty_days(backend: &Backend) {
    let post = Post::open();
    let app = long_lived(*backend).await;
    app.person(Role::Owner).await;
    let worker = app.unserved_with(|config| post.set_in(config));
    post.does(Fault::Unknown(&["approver@example.com"]));
    app.ask("request_refund", shop::refund("1001", 1)).await;
    work_as(&worker.notifier).await;
    let mut rival = app.rival();
    for state in ["sent", "dead"] {
        assert_eq!(rival.count("outbox", &format!("status = '{state}'")), 1, "{state}");
    }
    post.does(Fault::Busy(usize::MAX));
    worker.clock.shift(TimeDelta::minutes(3));
    work_as(&worker.notifier).await;
    assert_eq!(rival.count("outbox", "status = 'waiting'"), 1, "the report waits");

    worker.clock.shift(TimeDelta::days(30) - TimeDelta::hours(1));
    worker.notifier.tidy().await.unwrap();
    assert_eq!(rival.count("outbox", "1 = 1"), 3);
    worker.clock.shift(TimeDelta::hours(1));
    worker.notifier.tidy().await.unwrap();
    assert_eq!(rival.count("outbox", "status = 'waiting'"), 1);
    assert_eq!(rival.count("outbox", "1 = 1"), 1);
    assert_eq!(rival.count("outbox_items", "1 = 1"), 1);
}

backends!(what_waits_for_a_way_to_tell_it_is_given_up_after_a_day);
async fn what_waits_for_a_way_to_tell_it_is_given_up_after_a_day(backend: &Backend) {
    let post = Post::open();
    let app = long_lived(*backend).await;
    let worker = app.unserved_with(|config| post.set_in(config));
    post.does(Fault::Busy(usize::MAX));
    app.ask("request_refund", shop::refund("1001", 1)).await;
    work_as(&worker.notifier).await;
    // From now on nobody has a channel.
    app.ask("request_refund", shop::refund("1001", 2)).await;
    let mut rival = app.rival();
    let mut left = |app: &TestApp| {
        let told = rival.count("outbox", "status = 'waiting'");
        (told, app.rival().count("notices", "topic = 'requested'"))
    };
    app.time().shift(TimeDelta::hours(23));
    app.inner.notifier.tidy().await.unwrap();
    assert_eq!(left(&app), (1, 1));
    app.time().shift(TimeDelta::hours(2));
    app.inner.notifier.tidy().await.unwrap();
    assert_eq!(left(&app), (0, 0));

    // Whoever sets one up later is not told of yesterday.
    post.does(None);
    worker.clock.shift(TimeDelta::hours(25));
    work_as(&worker.notifier).await;
    assert_eq!(post.mails().len(), 0);
    assert_eq!(app.rival().count("outbox", "status = 'dropped'"), 1);
    worker.notifier.tidy().await.unwrap();
    app.ask("request_refund", shop::refund("1001", 3)).await;
    work_as(&worker.notifier).await;
    assert_eq!(post.mails().len(), 1, "today is told");
}

/// An approver and an order, and requests that wait for long.
async fn long_lived(backend: Backend) -> TestApp {
    let app = TestApp::with(backend, |config| config.action_ttl = "90d".parse().unwrap()).await;
    app.person(Role::Approver).await;
    app.order("#1001", 500_000).await;
    app
}
