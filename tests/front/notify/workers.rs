//! Several workers on one outbox: each message is delivered by one of them, and one that was taken for dead changes nothing.

use chrono::TimeDelta;
use countersign::store::outbox::{self, State};
use countersign::store::people::Role;
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::{with_post, work_as};
use crate::support::app::Server;
use crate::support::races::{race, repeat};
use crate::support::{Backend, Fault, Post, TestApp, backends, shop};

backends!(of_two_workers_one_delivers);
async fn of_two_workers_one_delivers(backend: &Backend) {
    let post = Post::open();
    let app = TestApp::with(*backend, |config| config.action_ttl = "30d".parse().unwrap()).await;
    app.person(Role::Approver).await;
    app.order("#1001", 500_000).await;
    // Processes that work when they are told to, and not by themselves.
    let workers: Vec<_> = (0..4).map(|_| app.unserved_with(|config| post.set_in(config))).collect();
    repeat("outbox workers", *backend, 200, async |round| {
        app.ask("request_refund", shop::refund("1001", i64::try_from(round).unwrap() + 1)).await;
        let plan = |notifier: &countersign::notify::Notifier| {
            let notifier = notifier.clone();
            async move { notifier.plan_all(&CancellationToken::new()).await.unwrap() }.boxed()
        };
        race(workers.iter().map(|worker| plan(&worker.notifier))).await;
        let deliver = |notifier: &countersign::notify::Notifier| {
            let notifier = notifier.clone();
            async move { notifier.deliver_all(&CancellationToken::new()).await.unwrap() }.boxed()
        };
        race(workers.iter().map(|worker| deliver(&worker.notifier))).await;
        assert_eq!(post.mails().len(), round + 1);
        assert_eq!(app.rival().count("outbox", "status = 'sent'"), i64::try_from(round).unwrap() + 1);
        // Past the pace.
        for worker in &workers {
            worker.clock.shift(TimeDelta::minutes(2));
        }
        app.time().shift(TimeDelta::minutes(2));
    })
    .await;
}

backends!(a_worker_whose_lease_was_taken_over_changes_nothing);
async fn a_worker_whose_lease_was_taken_over_changes_nothing(backend: &Backend) {
    let post = Post::open();
    let app = TestApp::with(*backend, |config| config.action_ttl = "30d".parse().unwrap()).await;
    app.person(Role::Approver).await;
    app.order("#1001", 500_000).await;
    let (slow, other) = (
        app.unserved_with(|config| post.set_in(config)),
        app.unserved_with(|config| post.set_in(config)),
    );
    repeat("a lease taken over", *backend, 200, async |round| {
        let sent = post.mails().len();
        app.ask("request_refund", shop::refund("1001", i64::try_from(round).unwrap() + 1)).await;
        post.does(Fault::Hang);
        let held = tokio::spawn({
            let notifier = slow.notifier.clone();
            async move { work_as(&notifier).await }
        });
        post.mails_when(sent + 1).await;
        // The lease is over: another worker delivers it once more, under the same id.
        other.clock.shift(TimeDelta::minutes(3));
        work_as(&other.notifier).await;
        let mails = post.mails();
        assert_eq!(mails.len(), sent + 2);
        assert_eq!(mails[sent].message_id, mails[sent + 1].message_id);
        let row = "SELECT status || CAST(attempts AS TEXT) || CAST(due_at AS TEXT) || CAST(ended_at AS TEXT) || \
                   COALESCE(last_error, '') AS t FROM outbox ORDER BY id";
        let marked = app.rival().texts(row);

        if round % 2 == 0 {
            post.let_go();
        } else {
            post.turn_away();
        }
        held.await.unwrap();
        assert_eq!(app.rival().texts(row), marked);
        assert_eq!(app.rival().count("outbox", "status <> 'sent'"), 0);
        slow.clock.shift(TimeDelta::minutes(3));
        app.time().shift(TimeDelta::minutes(3));
    })
    .await;
}

backends!(under_a_lease_that_was_taken_over_nothing_is_changed);
async fn under_a_lease_that_was_taken_over_nothing_is_changed(backend: &Backend) {
    let post = Post::open();
    let app = TestApp::with(*backend, |_| {}).await;
    app.person(Role::Approver).await;
    app.order("#1001", 50_000).await;
    app.ask("request_refund", shop::refund("1001", 1)).await;
    let worker = app.unserved_with(|config| post.set_in(config));
    worker.notifier.plan_all(&CancellationToken::new()).await.unwrap();
    let clock = worker.clock.clone();
    let changed = worker.db.write(move |conn| {
        let now = clock.now(conn)?;
        let (over, until) = (now + TimeDelta::seconds(60), now + TimeDelta::seconds(120));
        let message = outbox::claim(conn, "first", now, over)?.expect("a message");
        assert!(outbox::claim(conn, "second", now, over)?.is_none(), "it is held");
        let again = outbox::claim(conn, "second", over, until)?.expect("a message whose lease is over");
        assert_eq!(again.id, message.id);
        let id = &message.id;
        Ok([
            outbox::renew(conn, id, "first", until)?,
            outbox::put_back(conn, id, "first", Some("too late"), now)?,
            outbox::end(conn, id, "first", State::Sent, None, now)?,
            outbox::renew(conn, id, "second", until)?,
            outbox::put_back(conn, id, "second", None, now)?,
            // It is nobody's now.
            outbox::renew(conn, id, "second", until)?,
        ])
    });
    assert_eq!(changed.await.unwrap(), [0, 0, 0, 1, 1, 0]);
}

backends!(a_process_that_stops_hands_back_what_it_holds);
async fn a_process_that_stops_hands_back_what_it_holds(backend: &Backend) {
    let post = Post::open();
    let app = with_post(*backend, &post).await;
    app.person(Role::Approver).await;
    app.order("#1001", 50_000).await;
    post.does(Fault::Hang);
    app.ask("request_refund", shop::refund("1001", 100)).await;
    post.mails_when(1).await;
    let mut rival = app.rival();
    assert_eq!(rival.count("outbox", "lease IS NOT NULL"), 1);
    let database = app.leave().await;
    assert_eq!(rival.count("outbox", "lease IS NOT NULL"), 0);
    assert_eq!(rival.count("outbox", "status = 'waiting'"), 1);
    post.let_go();

    let next = Server::on(&database, |config| post.set_in(config));
    let mails = post.mails_when(2).await;
    assert_eq!(mails[0].message_id, mails[1].message_id);
    next.stop().await;
}
