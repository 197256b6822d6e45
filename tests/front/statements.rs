//! Statements on Postgres. Behind a pooler in transaction mode, none may count on the connection that another one had; straight on
//! a server, where the address says so, each connection keeps those it prepared.

mod kept;

use countersign::db::QueryResult;
use countersign::store::people::Role;
use diesel::connection::SimpleConnection;
use diesel::sql_types::BigInt;
use diesel::{Connection, PgConnection, QueryableByName, RunQueryDsl, sql_query};
use serde_json::json;

use crate::support::pooler::{CONNECTIONS, Pooler};
use crate::support::races::race;
use crate::support::readers::READERS;
use crate::support::rival::Rival;
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
        assert_eq!(app.readers_that_keep("at first").await, READERS);

        // What another release may do to the schema meanwhile.
        app.rival()
            .run("ALTER TABLE orders ADD COLUMN later TEXT; ALTER TABLE actions ADD COLUMN later TEXT");
        everybody_gets_their_own_answer(&app, &url, "wider").await;
        assert_eq!(app.readers_that_keep("wider").await, READERS);
        app.rival().run(
            "ALTER TABLE orders ALTER currency TYPE VARCHAR; ALTER TABLE actions ALTER reason TYPE VARCHAR",
        );
        everybody_gets_their_own_answer(&app, &url, "other").await;
        assert!(app.readers_that_keep("other").await < READERS);
        app.tear_down().await;
    });
}

#[test]
fn a_connection_that_meets_a_name_not_its_own_keeps_nothing() {
    run(Backend::Postgres, async |backend: &Backend| {
        let database = backend.fresh_database();
        let app = TestApp::at(&database.keeping_statements(), database).await;
        assert_eq!(app.readers_that_keep("at first").await, READERS);
        // As if the next transaction met another connection of a pooler.
        app.by_all_readers(|conn| sql_query("DEALLOCATE ALL").execute(conn)).await;
        for round in ["at first", "later"] {
            assert_eq!(app.readers_that_keep(round).await, 0, "{round}");
        }
        app.tear_down().await;
    });
}

#[test]
fn a_new_connection_that_finds_statements_keeps_none() {
    run(Backend::Postgres, async |backend: &Backend| {
        let database = backend.fresh_database();
        let pooler = Pooler::before(&database).await;
        let mut before: Vec<_> =
            (0..CONNECTIONS).map(|_| PgConnection::establish(&pooler.url).unwrap()).collect();
        let prepare = sql_query("PREPARE __diesel_stmt_0 AS SELECT 1");
        on_each_connection(&mut before, |conn| prepare.clone().execute(conn));

        let url = format!("{}?prepared_statements=yes", pooler.url);
        let app = TestApp::at(&url, database).await;
        everybody_gets_their_own_answer(&app, &url, "").await;
        let kept = sql_query("SELECT COUNT(*) AS n FROM pg_prepared_statements");
        let kept = on_each_connection(&mut before, |conn| kept.clone().get_result::<Count>(conn));
        assert!(kept.iter().all(|kept| kept.n == 1), "{kept:?}");
        app.tear_down().await;
    });
}

#[test]
fn a_new_connection_that_cannot_look_for_statements_keeps_none() {
    run(Backend::Postgres, async |backend: &Backend| {
        let database = backend.fresh_database();
        // Found before Postgres's own, and it fails.
        Rival::on(&database).run(
            "CREATE VIEW pg_prepared_statements AS SELECT 1 AS n WHERE 1 / (SELECT COUNT(*) FROM pg_class WHERE oid = 0) = 1;
             DO $$ BEGIN
                 EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
             END $$",
        );
        let app = TestApp::at(&database.keeping_statements(), database).await;
        assert_eq!(app.readers_that_keep("any").await, 0);
        app.tear_down().await;
    });
}

#[test]
fn without_being_told_to_no_connection_keeps_anything() {
    run(Backend::Postgres, async |app: &TestApp| assert_eq!(app.readers_that_keep("any").await, 0));
}

/// On each of the pooler's connections: a transaction has one to itself.
fn on_each_connection<T>(
    conns: &mut [PgConnection],
    work: impl Fn(&mut PgConnection) -> QueryResult<T>,
) -> Vec<T> {
    for conn in &mut *conns {
        conn.batch_execute("BEGIN").unwrap();
    }
    let outcomes = conns.iter_mut().map(|conn| work(conn).unwrap()).collect();
    for conn in conns {
        conn.batch_execute("COMMIT").unwrap();
    }
    outcomes
}

#[derive(Debug, QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    n: i64,
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
