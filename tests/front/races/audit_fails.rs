//! An audit event can't be written: no effect, the request is refused, nothing is half done.

use countersign::store::people::Role;
use serde_json::{Value, json};

use super::{CONTENDERS, ROUNDS};
use crate::support::races::{race, repeat};
use crate::support::shop::refund;
use crate::support::{Backend, TestApp, backends};

backends!(without_an_event_nothing_happens);

async fn without_an_event_nothing_happens(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let (windows, processes) = (person.windows(CONTENDERS), app.agent.processes(CONTENDERS));
    let books = app.books();
    repeat("no event can be written", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action(&action).await;
        let before = app.rival().everything();

        break_the_log(app);
        let decisions = windows.iter().enumerate().map(|(number, window)| match number % 2 {
            0 => window.approving(&seen),
            _ => window.rejecting(&seen),
        });
        for reply in race(decisions).await {
            assert_eq!((reply.status.as_u16(), reply.code()), (500, "internal"));
            keeps_quiet(&reply.body);
        }
        let calls = processes.iter().enumerate().map(|(number, agent)| match number % 4 {
            0 => agent.calling("request_refund", &refund(&order, 12_000)),
            1 => agent.calling("request_refund", &refund(&order, 1)),
            2 => agent.calling("withdraw_action", &json!({ "action_id": action })),
            _ => agent.calling("get_order", &json!({ "order_id": order })),
        });
        for answer in race(calls).await {
            assert_eq!(answer.code(), "internal");
            keeps_quiet(&answer.body);
        }
        assert_eq!(app.rival().everything(), before);

        mend_the_log(app);
        assert_eq!(person.approve_as_seen(&seen).await.ok()["status"], "executed");
        books.balance();
    })
    .await;
}

/// What the log says when it refuses must not be told to anybody.
#[track_caller]
fn keeps_quiet(answer: &Value) {
    let text = answer.to_string();
    assert!(!text.contains("no more paper") && !text.contains("audit_events"), "{text}");
}

fn break_the_log(app: &TestApp) {
    app.rival().run(match app.database.backend {
        Backend::Sqlite => {
            "CREATE TRIGGER broken BEFORE INSERT ON audit_events BEGIN SELECT RAISE(ABORT, 'no more paper'); END"
        }
        Backend::Postgres => {
            "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'no more paper'; END $$;
             CREATE TRIGGER broken BEFORE INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION broken()"
        }
    });
}

fn mend_the_log(app: &TestApp) {
    app.rival().run(match app.database.backend {
        Backend::Sqlite => "DROP TRIGGER broken",
        Backend::Postgres => "DROP TRIGGER broken ON audit_events; DROP FUNCTION broken",
    });
}
