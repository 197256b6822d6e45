//! Duplicates after the end: what is done or refused by a person is replayed, what came to nothing is tried again.

use chrono::TimeDelta;
use countersign::store::people::Role;
use serde_json::{Value, json};

use super::{CONTENDERS, ROUNDS};
use crate::support::races::{race, repeat};
use crate::support::shop::{id, refund};
use crate::support::{Agent, TestApp, races};

races!(
    duplicates_of_an_executed_request_replay_it,
    duplicates_of_a_rejected_request_replay_it,
    duplicates_of_a_failed_request_open_one_attempt,
    duplicates_of_a_withdrawn_request_open_one_attempt,
    duplicates_of_an_expired_request_open_one_attempt
);

async fn duplicates_of_an_executed_request_replay_it(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    replay_it(app, "executed", async |action, _| {
        person.approve(action).await.ok();
    })
    .await;
}

async fn duplicates_of_a_rejected_request_replay_it(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    replay_it(app, "rejected", async |action, _| {
        person.reject(action, "Ask the carrier first").await.ok();
    })
    .await;
}

async fn duplicates_of_a_failed_request_open_one_attempt(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    open_one_attempt(app, "failed", async |action, order| {
        let status = |status| {
            format!("UPDATE orders SET financial_status = '{status}', version = version + 1 WHERE name = '{order}'")
        };
        app.rival().run(&status("voided"));
        assert_eq!(person.approve(action).await.ok()["status"], "failed");
        app.rival().run(&status("paid"));
    })
    .await;
}

async fn duplicates_of_a_withdrawn_request_open_one_attempt(app: &TestApp) {
    open_one_attempt(app, "withdrawn", async |action, _| {
        app.agent.call("withdraw_action", json!({ "action_id": action })).await.ok();
    })
    .await;
}

async fn duplicates_of_an_expired_request_open_one_attempt(app: &TestApp) {
    open_one_attempt(app, "expired", async |_, _| {
        app.time().shift(TimeDelta::minutes(31));
        app.inner.gate.sweep().await.unwrap();
    })
    .await;
}

async fn replay_it(app: &TestApp, ending: &str, end: impl AsyncFn(&str, &str)) {
    after(app, ending, end, |action, answers| {
        for answer in answers {
            assert_eq!((id(answer), &answer["disposition"]), (action, &"replayed".into()));
            assert_eq!(answer["status"], ending);
        }
    })
    .await;
}

async fn open_one_attempt(app: &TestApp, ending: &str, end: impl AsyncFn(&str, &str)) {
    after(app, ending, end, |action, answers| {
        assert_eq!(answers.iter().filter(|answer| answer["disposition"] == "new").count(), 1);
        for answer in answers {
            assert_eq!(id(answer), id(&answers[0]));
            assert_eq!((&answer["attempt"], &answer["previous_action_id"]), (&2.into(), &action.into()));
            assert_eq!(answer["status"], "pending");
        }
    })
    .await;
}

/// Brings a request to an end, sends sixteen duplicates at once, and looks at the answers.
async fn after(app: &TestApp, ending: &str, end: impl AsyncFn(&str, &str), look: impl Fn(&str, &[Value])) {
    let processes: Vec<Agent> = app.agent.processes(CONTENDERS);
    let books = app.books();
    repeat(&format!("duplicates after {ending}"), app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let mut arguments = refund(&order, 12_000);
        if round % 2 == 1 {
            arguments["idempotency_key"] = format!("ticket {round}").into();
        }
        let action = app.ask("request_refund", arguments.clone()).await;
        end(&action, &order).await;

        let answers = race(processes.iter().map(|agent| agent.calling("request_refund", &arguments))).await;

        let answers: Vec<Value> = answers.into_iter().map(|answer| answer.ok()).collect();
        look(&action, &answers);
        books.balance();
    })
    .await;
}
