//! The audit log only grows, whoever is connected to its database.

use diesel::RunQueryDsl;

use crate::support::rival::Rival;
use crate::support::shop::refund;
use crate::support::{Backend, TestApp, backends};

backends!(what_is_written_stays);

async fn what_is_written_stays(app: &TestApp) {
    app.order("#1001", 50_000).await;
    app.ask("request_refund", refund("#1001", 100)).await;
    let written = log(app.rival());
    assert!(written.len() >= 3, "{written:?}");

    for attempt in attempts(app.database.backend) {
        // A rival's connection has none of the application's settings, recursive triggers among them.
        let refused = app.rival().try_to(&attempt).expect_err(&attempt).to_string();
        assert!(refused.contains("append-only"), "{attempt}: {refused}");
        let through_the_pool = attempt.clone();
        let refused = app
            .inner
            .db
            .write(move |conn| diesel::sql_query(&through_the_pool).execute(conn).map(drop));
        refused.await.expect_err(&attempt);
        assert_eq!(log(app.rival()), written, "{attempt}");
    }
}

/// Every event, in order.
pub fn log(mut rival: Rival) -> Vec<String> {
    rival.texts("SELECT seq || ' ' || id || ' ' || body AS t FROM audit_events ORDER BY seq")
}

/// Everything that would change or remove an event.
pub fn attempts(backend: Backend) -> Vec<String> {
    let columns = "id, at, category, event, actor_kind, outcome, denied, body";
    let forged = |id: &str| format!("{id}, at, category, event, actor_kind, 'forged', denied, body");
    let again = |verb: &str| {
        format!("{verb} INTO audit_events ({columns}) SELECT {} FROM audit_events LIMIT 1", forged("id"))
    };
    let in_place = |verb: &str| {
        let forged = forged("'another'");
        format!("{verb} INTO audit_events (seq, {columns}) SELECT seq, {forged} FROM audit_events LIMIT 1")
    };
    let mut attempts = vec![
        "UPDATE audit_events SET outcome = 'forged'".to_owned(),
        "DELETE FROM audit_events".to_owned(),
    ];
    match backend {
        Backend::Sqlite => {
            for verb in ["INSERT OR REPLACE", "REPLACE", "INSERT OR IGNORE"] {
                attempts.extend([again(verb), in_place(verb)]);
            }
            attempts.push("UPDATE audit_events SET seq = seq + 1000".to_owned());
            attempts.push("UPDATE OR REPLACE audit_events SET seq = 1 WHERE seq = 2".to_owned());
            attempts.push(again("INSERT") + " ON CONFLICT (id) DO UPDATE SET outcome = 'forged'");
        }
        Backend::Postgres => {
            attempts.push("UPDATE audit_events SET seq = DEFAULT".to_owned());
            attempts.push("TRUNCATE audit_events".to_owned());
            attempts.push("TRUNCATE audit_events CASCADE".to_owned());
            attempts.push(again("INSERT") + " ON CONFLICT (id) DO UPDATE SET outcome = 'forged'");
        }
    }
    attempts
}
