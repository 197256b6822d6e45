//! Statements on Postgres. Behind a pooler in transaction mode, none may count on the connection that another one had; straight on
//! a server, where the address says so, each connection keeps those it prepared.

use countersign::db::Conn;
use countersign::store::people::Role;
use diesel::sql_types::BigInt;
use diesel::{QueryableByName, RunQueryDsl, sql_query};
use serde_json::json;

use crate::support::pooler::Pooler;
use crate::support::races::race;
use crate::support::run::{Fixture, run};
use crate::support::shop::refund;
use crate::support::{Backend, TestApp};

const CALLERS: usize = 8;
const CALLS: usize = 25;

#[test]
fn everybody_gets_their_own_answer_behind_a_pooler() {
    run(Backend::Postgres, async |backend: &Backend| {
        let database = backend.fresh_database();
        let pooler = Pooler::before(&database).await;
        let app = TestApp::at(&pooler.url, database).await;
        everybody_gets_their_own_answer(&app, &pooler.url, "").await;
        assert_eq!(statements_kept(&app).await, 0);
        app.tear_down().await;
    });
}

#[test]
fn everybody_gets_their_own_answer_from_statements_that_are_kept() {
    run(Backend::Postgres, async |backend: &Backend| {
        let database = backend.fresh_database();
        let url = database.keeping_statements();
        let app = TestApp::at(&url, database).await;
        everybody_gets_their_own_answer(&app, &url, "").await;
        assert!(statements_kept(&app).await > 0);

        // What another release may do to the schema meanwhile.
        app.rival().run("ALTER TABLE orders ADD COLUMN later TEXT");
        everybody_gets_their_own_answer(&app, &url, "wider").await;
        assert!(statements_kept(&app).await > 0);
        app.rival().run("ALTER TABLE orders ALTER COLUMN currency TYPE VARCHAR");
        everybody_gets_their_own_answer(&app, &url, "other").await;
        app.tear_down().await;
    });
}

/// How many statements are kept by one of the connections that read.
async fn statements_kept(app: &TestApp) -> i64 {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = BigInt)]
        n: i64,
    }
    let kept =
        |conn: &mut Conn| sql_query("SELECT COUNT(*) AS n FROM pg_prepared_statements").get_result(conn);
    let row: Row = app.inner.db.read(kept).await.unwrap();
    row.n
}

/// At two servers on one database, the second of which finds it at `url`, with orders of the round's own.
async fn everybody_gets_their_own_answer(app: &TestApp, url: &str, round: &str) {
    let second = app.another_server_with(|config| config.database_url = url.parse().unwrap());
    let order = |caller| format!("#{round}{caller}");
    for caller in 0..CALLERS {
        app.order(&order(caller), 1_000_000).await;
    }
    let books = app.books();
    let person = app.person(Role::Approver).await;
    let callers = app.agent.processes(CALLERS).into_iter().zip(person.windows(CALLERS)).enumerate();
    let work = callers.map(|(caller, (agent, person))| {
        let (url, order) = (second.url.clone(), order(caller));
        async move {
            let (agent, person) = if caller % 2 == 0 {
                (agent, person)
            } else {
                (agent.at(&url), person.at(&url))
            };
            for call in 1..=CALLS {
                let read = agent.call("get_order", json!({ "order_id": order })).await.ok();
                assert_eq!(read["order_id"], order.as_str());
                let asked = agent.call("request_refund", refund(&order, call)).await.ok();
                assert_eq!(asked["disposition"], "new");
                let mut seen = person.action(asked["action_id"].as_str().unwrap()).await;
                seen.as_object_mut().unwrap().remove("subject_versions");
                assert_eq!(person.approve_as_seen(&seen).await.ok()["status"], "executed");
            }
        }
    });
    race(work.collect::<Vec<_>>()).await;

    let given_back = i64::try_from(CALLS * (CALLS + 1) / 2).unwrap();
    for caller in 0..CALLERS {
        assert_eq!(app.order_now(&order(caller)).await.refunded_minor, given_back);
    }
    books.balance();
    app.session(person).await;
    second.stop().await;
}
