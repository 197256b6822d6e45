//! Two sweepers: each row is acted on once.

use chrono::TimeDelta;
use serde_json::Value;

use super::ROUNDS;
use crate::support::races::{race, repeat};
use crate::support::shop::{id, refund};
use crate::support::{Backend, TestApp, backends};

backends!(sweepers_of_two_processes_expire_each_action_once);

const OVERDUE: usize = 6;

async fn sweepers_of_two_processes_expire_each_action_once(app: &TestApp) {
    let other_server = app.another_server();
    let too_long = TimeDelta::minutes(31);
    let books = app.books();
    repeat("two processes' sweepers", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let mut actions: Vec<Value> = Vec::new();
        for number in 0..OVERDUE {
            let asked = app.agent.call("request_refund", refund(&order, 100 + number)).await;
            actions.push(asked.ok());
        }
        for clock in [&app.inner.clock, &other_server.app.clock] {
            clock.shift(too_long);
        }

        let gates = [&app.inner.gate, &other_server.app.gate];
        let sweepers = (0..8).map(|number| {
            let gate = gates[number % 2].clone();
            async move { gate.sweep().await.unwrap() }
        });
        let ended: usize = race(sweepers).await.into_iter().sum();

        // The servers' own sweepers may have been there as well.
        assert!(ended <= OVERDUE, "{ended} rows were acted on of {OVERDUE}");
        for action in &actions {
            let id = id(action);
            assert_eq!(app.rival().count("actions", &format!("id = '{id}' AND status = 'expired'")), 1);
            assert_eq!(
                app.rival().count("audit_events", &format!("action_id = '{id}' AND event = 'expiry'")),
                1
            );
        }
        books.balance();
    })
    .await;
    other_server.stop().await;
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
