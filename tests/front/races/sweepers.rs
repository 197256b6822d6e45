//! Two sweepers: each row is acted on once.

use chrono::TimeDelta;
use countersign::app::App;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::ROUNDS;
use crate::support::races::{race, repeat};
use crate::support::rival::until_writing;
use crate::support::shop::refund;
use crate::support::{Backend, TestApp, backends};

backends!(sweepers_of_two_processes_expire_each_action_once, a_sweeper_waits_for_another);

const OVERDUE: usize = 6;

async fn sweepers_of_two_processes_expire_each_action_once(app: &TestApp) {
    let processes = ahead(app);
    let books = app.books();
    repeat("two processes' sweepers", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let mut actions = Vec::new();
        for number in 0..OVERDUE {
            actions.push(app.ask("request_refund", refund(&order, 100 + number)).await);
        }

        let sweepers = (0..8).map(|number| sweeping(&processes[number % 2]));
        let ended: usize = race(sweepers).await.into_iter().sum();

        assert_eq!(ended, OVERDUE);
        for id in &actions {
            assert_eq!(app.rival().count("actions", &format!("id = '{id}' AND status = 'expired'")), 1);
            assert_eq!(
                app.rival().count("audit_events", &format!("action_id = '{id}' AND event = 'expiry'")),
                1
            );
        }
        books.balance();
    })
    .await;
}

/// Both have found the same action. On Postgres the first is stopped at its commit, with the second behind it.
async fn a_sweeper_waits_for_another(app: &TestApp) {
    let [one, other] = ahead(app);
    let books = app.books();
    let is_postgres = app.database.backend == Backend::Postgres;
    let lock = if is_postgres {
        "UPDATE turnstile SET one = one"
    } else {
        "UPDATE orders SET version = version"
    };
    if is_postgres {
        app.rival().block_commits();
    }
    repeat("one sweeper behind another", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        app.ask("request_refund", refund(&order, 100)).await;

        let mut rival = app.rival();
        rival.begin(lock);
        let mut ended = Vec::new();
        for (count, process) in (1..).zip([&one, &other]) {
            ended.push(tokio::spawn(sweeping(process)));
            until_writing(&process.db).await;
            if is_postgres {
                app.until_waiting(count).await;
            }
        }
        rival.run("ROLLBACK");

        let ended = [ended.remove(0).await.unwrap(), ended.remove(0).await.unwrap()];
        // SQLite's lock is no queue.
        assert!(ended == [1, 0] || !is_postgres && ended == [0, 1], "{ended:?}");
        books.balance();
    })
    .await;
}

/// Two processes in which what was asked for just now is past due. The served application has another time, and nothing to sweep.
fn ahead(app: &TestApp) -> [App; 2] {
    [app.unserved(), app.unserved()].map(|process| {
        process.clock.shift(TimeDelta::minutes(31));
        process
    })
}

/// A sweep that is still to be made. Answers how many actions it ended.
fn sweeping(process: &App) -> BoxFuture<'static, usize> {
    let gate = process.gate.clone();
    async move { gate.sweep().await.unwrap() }.boxed()
}

backends!(what_cannot_be_expired_holds_up_nothing_else);
async fn what_cannot_be_expired_holds_up_nothing_else(app: &TestApp) {
    let order = app.order("#1001", 50_000).await.name;
    let stuck = app.ask("request_refund", refund(&order, 1)).await;
    let other = app.ask("request_refund", refund(&order, 2)).await;
    let expired = |id: &str| app.rival().count("actions", &format!("id = '{id}' AND status = 'expired'"));
    app.rival().run(&match app.database.backend {
        Backend::Sqlite => format!(
            "CREATE TRIGGER stuck BEFORE INSERT ON audit_events WHEN NEW.action_id = '{stuck}'
             BEGIN SELECT RAISE(ABORT, 'no more paper'); END"
        ),
        Backend::Postgres => format!(
            "CREATE FUNCTION stuck() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'no more paper'; END $$;
             CREATE TRIGGER stuck BEFORE INSERT ON audit_events FOR EACH ROW
             WHEN (NEW.action_id = '{stuck}') EXECUTE FUNCTION stuck()"
        ),
    });

    app.inner.clock.shift(TimeDelta::minutes(31));
    assert!(app.inner.gate.sweep().await.is_err());
    assert_eq!((expired(&stuck), expired(&other)), (0, 1));

    app.rival().run(match app.database.backend {
        Backend::Sqlite => "DROP TRIGGER stuck",
        Backend::Postgres => "DROP TRIGGER stuck ON audit_events",
    });
    app.inner.gate.sweep().await.unwrap();
    assert_eq!(expired(&stuck), 1);
}
