//! What can't be delivered: who hears of it, how often, and in which words.

use countersign::store::people::Role;

use crate::support::{TestApp, backends};

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
