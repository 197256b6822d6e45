//! A duplicate while the first is pending joins it; past its due time, swept or not, it opens the next attempt.

use chrono::TimeDelta;
use serde_json::Value;

use super::{CONTENDERS, ROUNDS};
use crate::support::races::{race, repeat};
use crate::support::shop::{id, refund};
use crate::support::{TestApp, races};

races!(duplicates_of_a_pending_request_join_it, duplicates_past_the_due_time_open_one_attempt);

async fn duplicates_of_a_pending_request_join_it(app: &TestApp) {
    let processes = app.agent.processes(CONTENDERS);
    let books = app.books();
    repeat("duplicates while pending", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let arguments = refund(&order, 12_000);
        let action = app.ask("request_refund", arguments.clone()).await;

        let answers = race(processes.iter().map(|agent| agent.calling("request_refund", &arguments))).await;

        for answer in answers {
            let answer = answer.ok();
            assert_eq!((id(&answer), &answer["disposition"]), (action.as_str(), &"joined".into()));
        }
        books.balance();
    })
    .await;
}

async fn duplicates_past_the_due_time_open_one_attempt(app: &TestApp) {
    let processes = app.agent.processes(CONTENDERS);
    let books = app.books();
    repeat("duplicates past due", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let arguments = refund(&order, 12_000);
        let overdue = app.ask("request_refund", arguments.clone()).await;
        app.time().shift(TimeDelta::minutes(31));

        let answers = race(processes.iter().map(|agent| agent.calling("request_refund", &arguments))).await;

        let answers: Vec<Value> = answers.into_iter().map(|answer| answer.ok()).collect();
        assert_eq!(answers.iter().filter(|answer| answer["disposition"] == "new").count(), 1);
        for answer in &answers {
            assert_eq!(id(answer), id(&answers[0]));
            assert_eq!(
                (&answer["attempt"], &answer["previous_action_id"]),
                (&2.into(), &overdue.as_str().into())
            );
            assert_eq!(answer["status"], "pending");
        }
        assert_eq!(app.rival().count("actions", &format!("id = '{overdue}' AND status = 'expired'")), 1);
        books.balance();
    })
    .await;
}
