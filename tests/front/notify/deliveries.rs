//! The owner's page of deliveries: what stands first, and trying all again.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use countersign::store::people::Role;
use reqwest::StatusCode;

use super::{with_post, work};
use crate::support::{Backend, Fault, Post, TestApp, backends, shop};

backends!(what_needs_a_person_stands_first_and_what_is_most_overdue_above_the_rest);
async fn what_needs_a_person_stands_first_and_what_is_most_overdue_above_the_rest(app: &TestApp) {
    let session = app.session(app.person(Role::Owner).await).await;
    let clock = app.inner.clock.clone();
    let now = app.inner.db.read(move |conn| clock.now(conn)).await.unwrap();
    let at = |minutes: i64| (now + TimeDelta::minutes(minutes)).format("'%Y-%m-%d %H:%M:%S%.6f'").to_string();
    let mut rival = app.rival();
    let expected = ["given.up", "failed.soon", "failed.later", "overdue", "due", "to.come", "sent"];
    for (name, status, attempts, error, due) in [
        ("to.come", "waiting", 0, "NULL", 30),
        ("failed.later", "waiting", 3, "'Busy'", 60),
        ("due", "waiting", 0, "NULL", -5),
        ("sent", "sent", 1, "NULL", -600),
        ("overdue", "waiting", 0, "NULL", -50),
        ("failed.soon", "waiting", 2, "'Busy'", 10),
        ("given.up", "dead", 9, "'Nobody there'", -900),
    ] {
        app.add_person(name, Role::Approver).await;
        let begun = if attempts > 0 { at(-1000) } else { "NULL".to_owned() };
        let ended = if status == "waiting" { "NULL".to_owned() } else { at(-1) };
        rival.run(&format!(
            "INSERT INTO outbox (id, channel, person_id, bundle, status, due_at, attempts, last_error, created_at, begun_at,
             ended_at) SELECT 'm.{name}', 'email', id, 'outcomes', '{status}', {}, {attempts}, {error}, {}, {begun}, {ended}
             FROM people WHERE email = '{name}@example.com'",
            at(due),
            at(-1000)
        ));
        for item in 0..attempts {
            rival.run(&format!(
                "INSERT INTO outbox_items (message_id, notice_id, topic, at, action_id, detail)
                 VALUES ('m.{name}', 'n{item}', 'decided', {}, NULL, '')",
                at(-1000)
            ));
        }
    }
    let page = session.get("/deliveries").await.html;
    let shown: Vec<_> = expected.map(|name| page.find(&format!("{name}@example.com")).expect(name)).into();
    assert!(shown.is_sorted(), "{shown:?}: {page}");
    for what in ["9 decisions", "2 decisions", "3 decisions", "A decision"] {
        assert!(page.contains(what), "{what}: {page}");
    }
    assert!(!page.contains("given up again"), "one has a button of its own: {page}");
}

backends!(all_that_was_given_up_is_tried_again_at_once);
async fn all_that_was_given_up_is_tried_again_at_once(backend: &Backend) {
    let post = Post::open();
    let app = with_post(*backend, &post).await;
    app.person(Role::Approver).await;
    app.add_person("second", Role::Approver).await;
    app.order("#1001", 50_000).await;
    post.does(Fault::UnknownRecipient);
    app.ask("request_refund", shop::refund("1001", 100)).await;
    until(&app, 2, "status = 'dead'").await;
    post.does(None);

    let session = app.session(app.person(Role::Owner).await).await;
    let page = session.get("/deliveries").await.html;
    assert!(page.contains("Try all 2 given up again"), "{page}");
    let tried = session.submit("/deliveries/retry", &[]).await;
    assert_eq!((tried.status, tried.location.as_deref()), (StatusCode::SEE_OTHER, Some("/deliveries")));
    until(&app, 2, "status = 'sent' AND bundle = 'at_once'").await;
    for to in ["approver@example.com", "second@example.com"] {
        assert!(post.mails().iter().any(|mail| mail.to == [to]), "{to}");
    }
    // Somebody's older page may say so once more.
    assert_eq!(session.submit("/deliveries/retry", &[]).await.status, StatusCode::SEE_OTHER);
    let told =
        |condition: &str| app.rival().count("audit_events", &format!("event = 'redelivery' AND {condition}"));
    assert_eq!(told(r#"outcome = 'done' AND body LIKE '%"messages":2%'"#), 1);
    assert_eq!((told("outcome = 'unchanged'"), told("1 = 1")), (1, 2));
    let log = session.get("/audit").await.html;
    assert!(log.contains("had 2 mails tried again"), "{log}");
}

/// Works until so many messages fulfil a condition.
async fn until(app: &TestApp, count: i64, condition: &str) {
    let patience = Instant::now() + Duration::from_secs(20);
    while app.rival().count("outbox", condition) != count {
        assert!(Instant::now() < patience, "there are never {count} with {condition}");
        work(app).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
