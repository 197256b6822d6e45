//! Waiting for a decision: what a client is told meanwhile, and who stops waiting when.

use std::time::{Duration, Instant};

use countersign::store::people::Role;
use reqwest::Response;
use serde_json::{Value, json};

use crate::support::shop::refund;
use crate::support::{TestApp, backends};

const PATIENCE: Duration = Duration::from_secs(15);

/// A call that waits for the action, and wants to be told of its progress under that token.
async fn wait(app: &TestApp, action: &str, token: &str) -> Response {
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "get_action_status",
        "arguments": { "action_id": action, "wait_seconds": 50 },
        "_meta": { "progressToken": token },
    } });
    let request = app.agent.request().header("mcp-protocol-version", "2025-06-18");
    request.body(message.to_string()).send().await.unwrap()
}

/// The next message of a stream of events.
async fn next(events: &mut Response) -> Value {
    let mut text = String::new();
    loop {
        let chunk = events.chunk().await.unwrap().expect("the stream ended");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        if let Some(message) = data.find_map(|data| serde_json::from_str(data.trim()).ok()) {
            return message;
        }
    }
}

async fn until_waiting(app: &TestApp, count: usize) {
    let begun = Instant::now();
    while app.inner.gate.waiters.waiting() != count {
        let waiting = app.inner.gate.waiters.waiting();
        assert!(begun.elapsed() < PATIENCE, "{waiting} wait, not {count}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

backends!(who_waits_is_told_of_progress_and_then_of_the_decision);
async fn who_waits_is_told_of_progress_and_then_of_the_decision(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let action = app.ask("request_refund", refund("#1001", 100)).await;
    let mut events = wait(app, &action, "told").await;
    assert_eq!(events.headers()["content-type"], "text/event-stream");

    let progress = next(&mut events).await;
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "told");
    assert_eq!(progress["params"]["message"], "Waiting for a person to decide.");

    app.person(Role::Approver).await.approve(&action).await.ok();
    let answer = next(&mut events).await;
    assert_eq!(
        (&answer["id"], &answer["result"]["structuredContent"]["status"]),
        (&json!(7), &json!("executed"))
    );
    until_waiting(app, 0).await;
}

backends!(who_hangs_up_waits_no_more);
async fn who_hangs_up_waits_no_more(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let action = app.ask("request_refund", refund("#1001", 100)).await;
    let arguments = json!({ "action_id": action, "wait_seconds": 50 });
    let waiting: Vec<_> = app
        .agent
        .processes(20)
        .iter()
        .map(|agent| tokio::spawn(agent.calling("get_action_status", &arguments)))
        .collect();
    until_waiting(app, 20).await;
    for call in &waiting {
        call.abort();
    }
    until_waiting(app, 0).await;

    // One whose stream of events has begun.
    let mut events = wait(app, &action, "told").await;
    next(&mut events).await;
    until_waiting(app, 1).await;
    drop(events);
    until_waiting(app, 0).await;
    assert_eq!(app.person(Role::Approver).await.approve(&action).await.ok()["status"], "executed");
}

backends!(who_waits_under_a_key_that_was_replaced_is_told_no_more);
async fn who_waits_under_a_key_that_was_replaced_is_told_no_more(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let action = app.ask("request_refund", refund("#1001", 100)).await;
    let arguments = json!({ "action_id": action, "wait_seconds": 50 });
    let waiting = tokio::spawn(app.agent.calling("get_action_status", &arguments));
    until_waiting(app, 1).await;
    let key = app.inner.auth.rotate(&app.agent.name).await.unwrap().key;
    app.person(Role::Approver).await.reject(&action, "For the agent alone").await.ok();
    assert_eq!(waiting.await.unwrap().code(), "not_found");

    let renewed = crate::support::Agent {
        key,
        ..app.agent.clone()
    };
    let told = renewed.call("get_action_status", json!({ "action_id": action })).await.ok();
    assert_eq!(told["decision"]["reason"], "For the agent alone");
}
