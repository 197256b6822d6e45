//! The database's own troubles, provoked in the real backends: what passes is tried again, what may pass is `unavailable`, and
//! nothing is half done.

mod language;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use countersign::db::{Conn, QueryResult};
use countersign::store::people::Role;
use diesel::{RunQueryDsl, sql_query};
use serde_json::json;

use crate::support::races::{race, repeat};
use crate::support::rival::{Place, lock_action};
use crate::support::run::run;
use crate::support::shop::refund;
use crate::support::{Backend, TestApp};

#[test]
fn a_deadlock_is_tried_again() {
    run(Backend::Postgres, deadlocks);
}

async fn deadlocks(app: &TestApp) {
    repeat("two writes in a deadlock", Backend::Postgres, 20, async |round| {
        let orders = [format!("#{round}a"), format!("#{round}b")];
        for order in &orders {
            app.order(order, 50_000).await;
        }
        let (both, tries) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
        let write = |first: &String, second: &String| {
            let (db, names) = (app.inner.db.clone(), [first.clone(), second.clone()]);
            let (both, tries) = (Arc::clone(&both), Arc::clone(&tries));
            async move {
                let write = move |conn: &mut Conn| {
                    touch(conn, &names[0])?;
                    if tries.fetch_add(1, Ordering::SeqCst) < 2 {
                        both.wait();
                    }
                    touch(conn, &names[1])
                };
                db.write(write).await.unwrap();
            }
        };
        race([write(&orders[0], &orders[1]), write(&orders[1], &orders[0])]).await;

        // Whoever lost may come back before the other has gone on, and lose once more.
        assert!(tries.load(Ordering::SeqCst) > 2, "one of them runs again");
        for order in &orders {
            assert_eq!(app.order_now(order).await.version, 3);
        }
    })
    .await;
}

#[test]
fn a_lost_serialization_is_tried_again() {
    run(Backend::Postgres, async |app: &TestApp| {
        app.order("#1001", 50_000).await;
        let tries = Arc::new(AtomicUsize::new(0));
        let (counted, place) = (Arc::clone(&tries), Place::of(&app.database));
        let write = move |conn: &mut Conn| {
            sql_query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").execute(conn)?;
            sql_query("SELECT 1 FROM orders").execute(conn)?;
            if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                place.rival().run("UPDATE orders SET version = version + 1");
            }
            touch(conn, "#1001")
        };
        app.inner.db.write(write).await.unwrap();
        assert_eq!(tries.load(Ordering::SeqCst), 2);
        assert_eq!(app.order_now("#1001").await.version, 3);
    });
}

#[test]
fn a_connection_ended_by_the_server_is_made_anew() {
    run(Backend::Postgres, ended_connections);
}

async fn ended_connections(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let books = app.books();
    repeat("connections ended in the middle", Backend::Postgres, 20, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let arguments = refund(&order, 100);
        let action = app.ask("request_refund", refund(&order, 200)).await;
        let approval = person.approving(&person.action_alone(&action).await);

        let mut rival = app.rival();
        rival.begin("UPDATE orders SET version = version");
        let approval = tokio::spawn(approval);
        let call = tokio::spawn(app.agent.calling("request_refund", &arguments));
        app.until_blocked(0, 2).await;
        app.rival().run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        rival.run("ROLLBACK");

        assert_eq!(call.await.unwrap().ok()["disposition"], "new");
        assert_eq!(approval.await.unwrap().ok()["status"], "executed");
        books.balance();
    })
    .await;
}

#[test]
fn what_an_operator_cancels_is_unavailable() {
    run(Backend::Postgres, async |app: &TestApp| {
        let person = app.person(Role::Approver).await;
        app.order("#1001", 50_000).await;
        let books = app.books();
        let action = app.ask("request_refund", refund("#1001", 100)).await;
        let approval = person.approving(&person.action(&action).await);

        let mut rival = app.rival();
        rival.begin(&lock_action(&action));
        let approval = tokio::spawn(approval);
        let withdrawal = app.agent.calling("withdraw_action", &json!({ "action_id": action }));
        let withdrawal = tokio::spawn(withdrawal);
        app.until_blocked(0, 2).await;
        app.rival().run(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );

        let approval = approval.await.unwrap();
        assert_eq!((approval.status.as_u16(), approval.code()), (503, "unavailable"));
        assert_eq!(withdrawal.await.unwrap().code(), "unavailable");
        rival.run("ROLLBACK");
        assert_eq!(person.approve(&action).await.ok()["status"], "executed");
        books.balance();
    });
}

#[test]
fn a_full_disk_is_unavailable() {
    run(Backend::Sqlite, async |app: &TestApp| {
        app.order("#1001", 50_000_000).await;
        let books = app.books();
        limit_pages(app, app.rival().number("SELECT page_count AS n FROM pragma_page_count")).await;
        let mut amount = 0;
        loop {
            amount += 1;
            let answer = app.agent.call("request_refund", refund("#1001", amount)).await;
            if answer.is_error {
                assert_eq!(answer.code(), "unavailable");
                break;
            }
        }
        assert_eq!(ready(app).await, 503, "nothing can be written");
        books.balance();

        limit_pages(app, 1_000_000).await;
        assert_eq!(
            app.agent.call("request_refund", refund("#1001", amount)).await.ok()["disposition"],
            "new"
        );
        assert_eq!(ready(app).await, 200);
        books.balance();
    });
}

async fn ready(app: &TestApp) -> u16 {
    reqwest::get(format!("{}/readyz", app.url)).await.unwrap().status().as_u16()
}

fn touch(conn: &mut Conn, order: &str) -> QueryResult<()> {
    let statement = format!("UPDATE orders SET version = version + 1 WHERE name = '{order}'");
    sql_query(statement).execute(conn).map(drop)
}

/// How many pages the one connection that writes may use: as many as there are is a full disk.
async fn limit_pages(app: &TestApp, pages: i64) {
    let limit =
        move |conn: &mut Conn| sql_query(format!("PRAGMA max_page_count = {pages}")).execute(conn).map(drop);
    app.inner.db.write(limit).await.unwrap();
}
