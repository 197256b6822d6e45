//! Retries at the edge of the retry window, and many at once across it: the same action, or exactly one new one.

use chrono::TimeDelta;
use countersign::kinds::ActionKind;
use countersign::shop::refund::Refund;
use countersign::store::people::Role;
use futures_util::FutureExt;
use serde_json::Value;

use super::{CONTENDERS, ROUNDS};
use crate::support::races::{race, repeat};
use crate::support::settings::figure;
use crate::support::shop::{id, refund};
use crate::support::{TestApp, races};

races!(retries_at_the_edge, retries_across_the_edge);

/// Longer than a round takes.
const SHORTLY: TimeDelta = TimeDelta::minutes(5);

async fn retries_at_the_edge(app: &TestApp) {
    let processes = app.agent.processes(CONTENDERS);
    let books = app.books();
    repeat("retries at the window's edge", app.database.backend, ROUNDS, async |round| {
        let (order, action) = decided(app, round).await;
        let retry = || processes.iter().map(|agent| agent.calling("request_refund", &refund(&order, 12_000)));

        app.time().shift(window() - SHORTLY);
        for answer in race(retry()).await {
            let answer = answer.ok();
            assert_eq!((id(&answer), &answer["disposition"]), (action.as_str(), &"replayed".into()));
        }
        app.time().shift(SHORTLY);
        let answers: Vec<Value> = race(retry()).await.into_iter().map(|answer| answer.ok()).collect();
        assert_eq!(answers.iter().filter(|answer| answer["disposition"] == "new").count(), 1);
        assert_eq!(answers.iter().filter(|answer| answer["disposition"] == "joined").count(), CONTENDERS - 1);
        assert!(answers.iter().all(|answer| id(answer) == id(&answers[0])));
        goes_on(app, &order, &action, &answers[0], round).await;
        books.balance();
    })
    .await;
}

async fn retries_across_the_edge(app: &TestApp) {
    let processes = app.agent.processes(CONTENDERS - 1);
    let (books, mut replayed) = (app.books(), 0);
    repeat("retries across the window's edge", app.database.backend, ROUNDS, async |round| {
        let (order, action) = decided(app, round).await;
        let arguments = refund(&order, 12_000);
        app.time().shift(window() - SHORTLY);

        let retries = processes.iter().map(|agent| {
            let retry = agent.calling("request_refund", &arguments);
            async { Some(retry.await.ok()) }.boxed()
        });
        let time = app.time();
        let time = async move {
            time.shift(SHORTLY);
            None
        };
        let answers = race(retries.chain([time.boxed()])).await;

        let (same, new): (Vec<Value>, Vec<Value>) =
            answers.into_iter().flatten().partition(|answer| id(answer) == action);
        assert!(same.iter().all(|answer| answer["disposition"] == "replayed"));
        let opened = new.iter().filter(|answer| answer["disposition"] == "new").count();
        assert_eq!(opened, usize::from(!new.is_empty()), "{new:?}");
        let last = app.agent.call("request_refund", arguments).await.ok();
        assert_eq!(last["disposition"], if new.is_empty() { "new" } else { "joined" });
        assert!(new.iter().all(|answer| id(answer) == id(&last)));
        goes_on(app, &order, &action, &last, round).await;
        books.balance();
        replayed += same.len();
    })
    .await;
    figure(&format!(
        "retries across the window's edge, {}: {replayed} replayed",
        app.database.backend
    ));
}

fn window() -> TimeDelta {
    TimeDelta::from_std(Refund::RETRY_WINDOW).unwrap()
}

/// An order with a refund that was executed or, every other round, rejected.
async fn decided(app: &TestApp, round: usize) -> (String, String) {
    let person = app.person(Role::Approver).await;
    let order = app.order(&format!("#{round}"), 50_000).await.name;
    let action = app.ask("request_refund", refund(&order, 12_000)).await;
    match round % 2 {
        0 => person.approve(&action).await.ok(),
        _ => person.reject(&action, "Ask the carrier first").await.ok(),
    };
    (order, action)
}

/// The new action follows the one before, and is done once more when it is approved: not before.
async fn goes_on(app: &TestApp, order: &str, before: &str, new: &Value, round: usize) {
    assert_eq!((&new["attempt"], &new["previous_action_id"]), (&2.into(), &before.into()));
    let done = if round.is_multiple_of(2) { 12_000 } else { 0 };
    assert_eq!(app.order_now(order).await.refunded_minor, done);
    assert_eq!(app.person(Role::Approver).await.approve(id(new)).await.ok()["status"], "executed");
    assert_eq!(app.order_now(order).await.refunded_minor, done + 12_000);
}
