//! The same key from two processes, for the first time: one action; the loser joins it.

use serde_json::Value;

use super::{CONTENDERS, ROUNDS};
use crate::support::held::GatedApp;
use crate::support::races::{race, repeat};
use crate::support::rival::until_writing;
use crate::support::shop::{id, refund};
use crate::support::{TestApp, backends, races};

races!(one_request_through_two_servers);
backends!(the_second_server_waits_for_the_first);

async fn one_request_through_two_servers(app: &TestApp) {
    let other_server = app.another_server();
    let there = app.agent.at(&other_server.url);
    let processes = [app.agent.processes(CONTENDERS / 2), there.processes(CONTENDERS / 2)].concat();
    let books = app.books();
    repeat("first insert, two servers", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let mut arguments = refund(&order, 12_000);
        if round % 2 == 1 {
            arguments["idempotency_key"] = format!("ticket {round}").into();
        }

        let answers = race(processes.iter().map(|agent| agent.calling("request_refund", &arguments))).await;

        let answers: Vec<Value> = answers.into_iter().map(|answer| answer.ok()).collect();
        assert!(answers.iter().all(|answer| id(answer) == id(&answers[0])));
        assert_eq!(answers.iter().filter(|answer| answer["disposition"] == "new").count(), 1);
        assert_eq!(answers.iter().filter(|answer| answer["disposition"] == "joined").count(), CONTENDERS - 1);
        assert_eq!(app.rival().count("actions", &format!("requested_params LIKE '%\"{order}\"%'")), 1);
        books.balance();
    })
    .await;
    drop((processes, there));
    other_server.stop().await;
}

async fn the_second_server_waits_for_the_first(GatedApp { app, gate }: &GatedApp) {
    let other_server = app.another_server();
    let there = app.agent.at(&other_server.url);
    let books = app.books();
    repeat("first insert, one before the other", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let arguments = refund(&order, 12_000);

        gate.shut();
        let first = tokio::spawn(app.agent.calling("request_refund", &arguments));
        gate.until_reached().await;
        let second = tokio::spawn(there.calling("request_refund", &arguments));
        until_writing(&other_server.app.db).await;
        app.until_waiting_at("INSERT INTO slots").await;
        gate.open();

        let (first, second) = (first.await.unwrap().ok(), second.await.unwrap().ok());
        assert_eq!((&first["disposition"], &second["disposition"]), (&"new".into(), &"joined".into()));
        assert_eq!(id(&first), id(&second));
        books.balance();
    })
    .await;
    drop(there);
    other_server.stop().await;
}
