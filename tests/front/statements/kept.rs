//! Which statements a connection keeps.

use std::sync::Mutex;

use countersign::db::{Conn, QueryResult};
use countersign::store::people::Role;
use diesel::connection::{InstrumentationEvent, set_default_instrumentation};
use diesel::sql_types::Text;
use diesel::{QueryableByName, RunQueryDsl, sql_query};
use serde_json::json;

use crate::support::run::Fixture;
use crate::support::shop::{id, refund};
use crate::support::{Backend, TestApp, backends};

/// What is written with a request, its approval and a read begins with one of these, but for marks around names.
const WRITES: [&str; 11] = [
    "INSERT INTO slots ",
    "UPDATE slots SET action_id ",
    "INSERT INTO actions ",
    "UPDATE actions SET lock_no ",
    "UPDATE actions SET status ",
    "INSERT INTO action_subjects ",
    "INSERT INTO notices ",
    "INSERT INTO audit_events ",
    "UPDATE orders SET version ",
    "UPDATE orders SET refunded_minor ",
    "INSERT INTO refunds ",
];

/// What the SQLite connections of this process keep.
static KEPT: Mutex<Vec<String>> = Mutex::new(Vec::new());

backends!(what_every_call_writes_is_kept);
async fn what_every_call_writes_is_kept(backend: &Backend) {
    set_default_instrumentation(|| Some(Box::new(note_if_kept))).unwrap();
    let database = backend.fresh_database();
    let url = match backend {
        Backend::Sqlite => database.url.clone(),
        Backend::Postgres => database.keeping_statements(),
    };
    let app = TestApp::at(&url, database).await;
    let approver = app.person(Role::Approver).await;
    let mut before = Vec::new();
    for round in 1.. {
        let order = format!("#{round}");
        app.order(&order, 5_000).await;
        app.agent.call("get_order", json!({ "order_id": order })).await.ok();
        let asked = app.agent.call("request_refund", refund(&order, 500)).await.ok();
        approver.approve(id(&asked)).await.ok();

        let kept = match backend {
            Backend::Sqlite => KEPT.lock().unwrap().clone(),
            Backend::Postgres => app.inner.db.write(kept_by_this).await.unwrap(),
        };
        let mut kept: Vec<_> = kept.iter().map(|statement| statement.replace(['`', '"'], "")).collect();
        kept.retain(|statement| WRITES.iter().any(|write| statement.starts_with(write)));
        kept.sort();
        kept.dedup();
        let lacks = |write: &&&str| !kept.iter().any(|statement| statement.starts_with(**write));
        let lacking: Vec<_> = WRITES.iter().filter(lacks).collect();
        if lacking.is_empty() && kept == before {
            break;
        }
        // Another connection to Postgres may have done some of it.
        assert!(
            round < 8,
            "after {round} rounds {lacking:?} are lacking from, or something is new in {kept:#?}"
        );
        before = kept;
    }
    app.tear_down().await;
}

fn note_if_kept(event: InstrumentationEvent<'_>) {
    if let InstrumentationEvent::CacheQuery { sql, .. } = event {
        KEPT.lock().unwrap().push(sql.to_owned());
    }
}

fn kept_by_this(conn: &mut Conn) -> QueryResult<Vec<String>> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = Text)]
        statement: String,
    }
    let rows: Vec<Row> = sql_query("SELECT statement FROM pg_prepared_statements").load(conn)?;
    Ok(rows.into_iter().map(|row| row.statement).collect())
}
