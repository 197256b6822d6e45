//! What can't be delivered: who hears of it, how often, and in which words.

use chrono::TimeDelta;
use countersign::app::App;
use countersign::store::people::Role;
use tokio_util::sync::CancellationToken;

use super::work_as;
use crate::support::{Backend, Fault, Post, TestApp, backends, shop};

backends!(of_one_mailbox_owners_hear_once_a_day);
async fn of_one_mailbox_owners_hear_once_a_day(backend: &Backend) {
    let post = Post::open();
    let (app, worker) = with_worker(*backend, &post).await;
    app.person(Role::Owner).await;
    post.does(Fault::Unknown(&["approver@example.com"]));
    let mut heard = Vec::new();
    for (hours, cents) in [(0, 1), (12, 2), (13, 3)] {
        app.time().shift(TimeDelta::hours(hours));
        worker.clock.shift(TimeDelta::hours(hours));
        app.ask("request_refund", shop::refund("1001", cents)).await;
        fail_and_report(&worker).await;
        heard.push(reports(&post).len());
    }
    assert_eq!(heard, [1, 1, 2]);
    assert_eq!(app.rival().count("outbox", "status = 'dead'"), 3);
}

backends!(owners_hear_of_a_mailbox_though_a_report_to_it_was_given_up_before);
async fn owners_hear_of_a_mailbox_though_a_report_to_it_was_given_up_before(backend: &Backend) {
    let post = Post::open();
    let (app, worker) = with_worker(*backend, &post).await;
    app.person(Role::Owner).await;
    app.add_person("second", Role::Owner).await;
    let mut rival = app.rival();
    rival.run(
        "INSERT INTO notification_mutes (person_id, list, muted_at) \
         SELECT id, 'requests', created_at FROM people WHERE role = 'owner'",
    );
    post.does(Fault::Unknown(&["approver@example.com", "owner@example.com"]));
    app.ask("request_refund", shop::refund("1001", 1)).await;
    fail_and_report(&worker).await;
    assert_eq!(
        reports(&post),
        ["second@example.com: A mail to approver@example.com could not be delivered"]
    );
    assert_eq!(rival.count("outbox", "status = 'dead' AND bundle = 'undelivered'"), 1);

    rival.run("DELETE FROM notification_mutes");
    for clock in [&app.inner.clock, &worker.clock] {
        clock.shift(TimeDelta::minutes(3));
    }
    app.ask("request_refund", shop::refund("1001", 2)).await;
    fail_and_report(&worker).await;
    assert_eq!(
        reports(&post)[1..],
        ["second@example.com: A mail to owner@example.com could not be delivered"]
    );
}

backends!(a_defect_is_told_of_without_its_cause);
async fn a_defect_is_told_of_without_its_cause(backend: &Backend) {
    let post = Post::open();
    let (app, worker) = with_worker(*backend, &post).await;
    app.ask("request_refund", shop::refund("1001", 1)).await;
    let stop = CancellationToken::new();
    worker.notifier.plan_all(&stop).await.unwrap();
    let mut rival = app.rival();
    rival.run("ALTER TABLE outbox_items RENAME TO elsewhere");
    worker.notifier.deliver_all(&stop).await.unwrap();
    rival.run("ALTER TABLE elsewhere RENAME TO outbox_items");
    assert_eq!(
        rival.texts("SELECT last_error AS t FROM outbox WHERE status = 'waiting'"),
        ["Something went wrong inside Countersign. The operator's log says what."]
    );
    worker.clock.shift(TimeDelta::minutes(1));
    work_as(&worker.notifier).await;
    assert_eq!(post.mails().len(), 1);
}

backends!(what_failed_is_listed_before_what_waits_and_the_latest_end_first);
async fn what_failed_is_listed_before_what_waits_and_the_latest_end_first(app: &TestApp) {
    app.person(Role::Owner).await;
    let mut rival = app.rival();
    for (id, status, due, error, ended) in [
        ("long-due", "waiting", "10:00", "NULL", None),
        ("just-due", "waiting", "10:20", "NULL", None),
        ("failing", "waiting", "10:30", "'busy'", None),
        ("sent-first", "sent", "10:15", "NULL", Some("10:16")),
        ("sent-last", "sent", "10:10", "NULL", Some("10:50")),
        ("dead", "dead", "09:00", "'gone'", Some("09:01")),
    ] {
        let ended = ended.map_or_else(|| "NULL".to_owned(), |at| format!("'2026-01-05 {at}:00'"));
        rival.run(&format!(
            "INSERT INTO outbox (id, channel, person_id, bundle, status, due_at, attempts, last_error, created_at, \
             begun_at, ended_at) SELECT '{id}', 'email', id, 'at_once', '{status}', '2026-01-05 {due}:00', 1, {error}, \
             created_at, created_at, {ended} FROM people"
        ));
    }
    let listed = app.inner.notifier.delivering().await.unwrap().messages;
    let listed: Vec<_> = listed.iter().map(|delivery| delivery.message.id.as_str()).collect();
    assert_eq!(listed, ["dead", "failing", "long-due", "just-due", "sent-last", "sent-first"]);
}

/// An approver, an order, and a process that delivers when it is told to.
async fn with_worker(backend: Backend, post: &Post) -> (TestApp, App) {
    let app = TestApp::with(backend, |config| config.action_ttl = "30d".parse().unwrap()).await;
    app.person(Role::Approver).await;
    app.order("#1001", 500_000).await;
    let worker = app.unserved_with(|config| post.set_in(config));
    (app, worker)
}

/// Has what is due fail, and has that told.
async fn fail_and_report(worker: &App) {
    work_as(&worker.notifier).await;
    work_as(&worker.notifier).await;
}

/// To whom it was reported that somebody's mail was given up.
fn reports(post: &Post) -> Vec<String> {
    let mut told = super::told(&post.mails());
    told.retain(|mail| mail.contains("could not be delivered"));
    told
}
