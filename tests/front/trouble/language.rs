//! A Postgres server that speaks German means the same by its errors as one that speaks English.

use crate::support::program::Program;
use crate::support::rival::Rival;
use crate::support::run::runtime;
use crate::support::settings::left_out;
use crate::support::shop::refund;
use crate::support::{Backend, Database, TestApp};

#[test]
fn a_deadlock_is_tried_again() {
    in_german(super::deadlocks);
}

#[test]
fn a_connection_ended_by_the_server_is_made_anew() {
    in_german(super::ended_connections);
}

#[test]
fn a_lock_that_is_not_given_up_is_unavailable() {
    in_german(async |app: &TestApp| {
        app.order("#1001", 50_000).await;
        let mut rival = app.rival();
        rival.block_commits();
        for lock in ["UPDATE orders SET version = version", "UPDATE turnstile SET one = one"] {
            rival.begin(lock);
            let answer = app.agent.call("request_refund", refund("#1001", 100)).await;
            rival.run("ROLLBACK");
            assert_eq!(answer.code(), "unavailable", "{lock}");
            assert_eq!(super::ready(app).await, 503);
        }
        app.agent.call("request_refund", refund("#1001", 100)).await.ok();
    });
}

#[test]
fn a_statement_that_is_kept_and_no_longer_fits_is_kept_no_more() {
    if !Backend::Postgres.is_selected() {
        return;
    }
    runtime().block_on(async {
        let database = speaking_german(Backend::Postgres.fresh_database());
        let app = TestApp::at(&database.keeping_statements(), database).await;
        app.order("#1001", 50_000).await;
        let ask = async |amount| app.agent.call("request_refund", refund("#1001", amount)).await;
        for amount in 1..=3 {
            ask(amount).await.ok();
        }
        app.rival().run("ALTER TABLE orders ALTER COLUMN currency TYPE VARCHAR");
        // At most once by each connection; one at a time, they share a few.
        let (mut amount, mut turned_away) = (4, 0);
        while amount < 20 {
            let answer = ask(amount).await;
            if answer.is_error {
                assert_eq!(answer.code(), "unavailable");
                turned_away += 1;
                assert!(turned_away < 4, "again and again");
            } else {
                amount += 1;
            }
        }
        app.leave().await;
    });
}

#[test]
fn a_defect_stays_one_in_english() {
    super::run(Backend::Postgres, async |app: &TestApp| {
        app.order("#1001", 50_000).await;
        app.rival().run(Backend::Postgres.break_the_log());
        let answer = app.agent.call("request_refund", refund("#1001", 100)).await;
        assert_eq!(answer.code(), "internal");
    });
}

#[test]
fn a_database_without_a_schema_is_known_as_one() {
    if !Backend::Postgres.is_selected() {
        return;
    }
    let empty = speaking_german(Backend::Postgres.empty_database());
    let program = Program::on(&empty);
    let said = program.run(&["check", "--listen", "127.0.0.1:0"]).ok();
    assert!(said.contains("brings it up to date"), "{said}");
    let said = program.run(&["serve", "--no-migrate", "--listen", "127.0.0.1:0"]).sentence();
    assert!(said.contains("countersign migrate"), "{said}");
}

fn in_german(test: impl AsyncFnOnce(&TestApp)) {
    if !Backend::Postgres.is_selected() {
        return;
    }
    runtime().block_on(async {
        let app = TestApp::on_database(speaking_german(Backend::Postgres.fresh_database())).await;
        test(&app).await;
        app.leave().await;
    });
}

/// Where the server has no German, the test goes on in English.
fn speaking_german(database: Database) -> Database {
    let german = Rival::on(&database).try_to(
        "DO $$ BEGIN
           EXECUTE format('ALTER DATABASE %I SET lc_messages TO ''de_DE.UTF-8''', current_database());
         END $$",
    );
    let heard = Rival::on(&database).try_to("SELECT 1 FROM nowhere");
    if german.is_err() || heard.is_err_and(|error| error.to_string().contains("does not exist")) {
        left_out(
            "Postgres in German",
            "needs Debian's package `locales` and a server with its translations",
        );
    }
    database
}
