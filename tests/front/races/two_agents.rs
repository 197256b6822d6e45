//! The same explicit key from two agents: independent actions.

use serde_json::Value;

use super::{CONTENDERS, ROUNDS};
use crate::support::races::{race, repeat};
use crate::support::shop::{id, refund, with_key};
use crate::support::{TestApp, races};

races!(a_key_belongs_to_its_agent);

async fn a_key_belongs_to_its_agent(app: &TestApp) {
    let other = app.add_agent("another", &["orders:write"]).await;
    let processes = [app.agent.processes(CONTENDERS / 2), other.processes(CONTENDERS / 2)].concat();
    let books = app.books();
    repeat("one key, two agents", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let arguments = with_key(refund(&order, 12_000), format!("ticket {round}"));

        let answers = race(processes.iter().map(|agent| agent.calling("request_refund", &arguments))).await;

        let answers: Vec<Value> = answers.into_iter().map(|answer| answer.ok()).collect();
        let (ones, others) = answers.split_at(CONTENDERS / 2);
        for answers in [ones, others] {
            assert!(answers.iter().all(|answer| id(answer) == id(&answers[0])));
            assert_eq!(answers.iter().filter(|answer| answer["disposition"] == "new").count(), 1);
        }
        assert_ne!(id(&ones[0]), id(&others[0]));
        books.balance();
    })
    .await;
}
