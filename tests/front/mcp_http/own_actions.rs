//! What an agent can do with its own actions, and only with those.

use std::time::{Duration, Instant};

use countersign::store::people::Role;
use serde_json::{Value, json};

use crate::support::shop::{id, refund};
use crate::support::{Agent, TestApp, backends};

backends!(a_strangers_a_missing_and_a_malformed_action_are_the_same_answer);
async fn a_strangers_a_missing_and_a_malformed_action_are_the_same_answer(app: &TestApp) {
    let stranger = app.add_agent("stranger", &["orders:write", "orders:read"]).await;
    let theirs = ask(app, &stranger, 1).await;
    let longest = "x".repeat(64);
    let ids = [
        theirs.as_str(),
        "01990000-0000-7000-8000-000000000000",
        "1",
        "#1001",
        "' OR '1'='1",
        &longest,
    ];
    for tool in ["get_action_status", "withdraw_action"] {
        let mut answers = Vec::new();
        for id in ids {
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": { "name": tool, "arguments": { "action_id": id } } });
            answers.push(app.agent.post(message.to_string()).await);
        }
        assert!(answers[0].1.contains("not_found"), "{}", answers[0].1);
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
    }
    assert_eq!(status(&stranger, &theirs).await, "pending");
}

backends!(a_wait_ends_with_the_decision);
async fn a_wait_ends_with_the_decision(app: &TestApp) {
    let approver = app.person(Role::Approver).await;
    let id = ask(app, &app.agent, 1).await;
    let waiting = {
        let (agent, id) = (app.agent.clone(), id.clone());
        tokio::spawn(async move {
            agent.call("get_action_status", json!({ "action_id": id, "wait_seconds": 30 })).await.ok()
        })
    };
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished());
    approver.approve(&id).await.ok();
    let begun = Instant::now();
    assert_eq!(waiting.await.unwrap()["status"], "executed");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

backends!(a_wait_without_a_decision_ends_in_time);
async fn a_wait_without_a_decision_ends_in_time(app: &TestApp) {
    let id = ask(app, &app.agent, 1).await;
    let begun = Instant::now();
    let waited = app.agent.call("get_action_status", json!({ "action_id": id, "wait_seconds": 1 })).await;
    assert_eq!(waited.ok()["status"], "pending");
    assert!((1..4).contains(&begun.elapsed().as_secs()));
    for wait in [-1, 51, 60_000] {
        let refused = app
            .agent
            .call("get_action_status", json!({ "action_id": id, "wait_seconds": wait }))
            .await;
        assert_eq!(refused.code(), "invalid_params", "{wait}");
    }
}

backends!(its_list_comes_in_pages_newest_first);
async fn its_list_comes_in_pages_newest_first(app: &TestApp) {
    let mut asked = Vec::new();
    for amount in 1..=5 {
        asked.push(ask(app, &app.agent, amount).await);
    }
    let stranger = app.add_agent("stranger", &["orders:write"]).await;
    ask(app, &stranger, 9).await;
    asked.reverse();

    let (mut seen, mut page) = (Vec::new(), json!({ "limit": 2 }));
    loop {
        let list = app.agent.call("list_actions", page).await.ok();
        let ids = list["actions"].as_array().unwrap().iter().map(id);
        seen.extend(ids.map(str::to_owned));
        let Some(cursor) = list.get("next_cursor") else { break };
        page = json!({ "limit": 2, "cursor": cursor });
    }
    assert_eq!(seen, asked);
}

backends!(its_list_is_filtered_by_status_and_kind);
async fn its_list_is_filtered_by_status_and_kind(app: &TestApp) {
    let (kept, withdrawn) = (ask(app, &app.agent, 1).await, ask(app, &app.agent, 2).await);
    app.agent.call("withdraw_action", json!({ "action_id": withdrawn })).await.ok();
    for (filter, expected) in [
        (json!({ "status": "pending" }), vec![kept.clone()]),
        (json!({ "status": "withdrawn", "kind": "refund" }), vec![withdrawn.clone()]),
        (json!({ "status": "expired" }), vec![]),
        (json!({ "kind": "refund" }), vec![withdrawn, kept]),
    ] {
        let list = app.agent.call("list_actions", filter.clone()).await.ok();
        let ids: Vec<_> = list["actions"].as_array().unwrap().iter().map(id).collect();
        assert_eq!(ids, expected, "{filter}");
    }
    let refused = app.agent.call("list_actions", json!({ "kind": "transfer" })).await;
    assert_eq!((refused.code(), &refused.body["error"]["field"]), ("invalid_params", &json!("kind")));
}

backends!(it_withdraws_what_is_pending_and_learns_what_is_not);
async fn it_withdraws_what_is_pending_and_learns_what_is_not(app: &TestApp) {
    let (first, second) = (ask(app, &app.agent, 1).await, ask(app, &app.agent, 2).await);
    for _ in 0..2 {
        let withdrawn = app.agent.call("withdraw_action", json!({ "action_id": first })).await.ok();
        assert_eq!(withdrawn["status"], "withdrawn", "also the second time");
    }
    let approver = app.person(Role::Approver).await;
    assert_eq!(approver.approve(&first).await.code(), "already_decided");
    approver.approve(&second).await.ok();
    let late = app.agent.call("withdraw_action", json!({ "action_id": second })).await.ok();
    assert_eq!((&late["status"], &late["decision"]["by"]), (&json!("executed"), &json!(approver.email)));
    assert_eq!(app.order_now("#1001").await.refunded_minor, 2);
}

backends!(what_nobody_decided_in_time_is_expired);
async fn what_nobody_decided_in_time_is_expired(app: &TestApp) {
    let id = ask(app, &app.agent, 1).await;
    app.inner.clock.shift(chrono::TimeDelta::minutes(31));
    assert_eq!(status(&app.agent, &id).await, "expired");
    let late = app.agent.call("withdraw_action", json!({ "action_id": id })).await.ok();
    assert_eq!(late["status"], "expired");
}

/// Asks for a refund on an order that is made with the first request.
async fn ask(app: &TestApp, agent: &Agent, amount: i64) -> String {
    let answer = agent.call("request_refund", refund("1001", amount)).await;
    if answer.is_error {
        app.order("#1001", 90_000).await;
        return id(&agent.call("request_refund", refund("1001", amount)).await.ok()).to_owned();
    }
    id(&answer.body).to_owned()
}

async fn status(agent: &Agent, id: &str) -> Value {
    agent.call("get_action_status", json!({ "action_id": id })).await.ok()["status"].clone()
}
