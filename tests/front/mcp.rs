//! What agents meet at the MCP door.

use serde_json::json;

use crate::support::{TestApp, backends};

backends!(a_request_waits_and_its_repetition_joins_it);
async fn a_request_waits_and_its_repetition_joins_it(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let arguments =
        json!({ "order_id": "1001", "amount_minor": 12_000, "currency": "INR", "reason": "Arrived broken" });

    let asked = app.agent.call("request_refund", arguments.clone()).await.ok();
    assert_eq!((&asked["status"], &asked["disposition"]), (&json!("pending"), &json!("new")));

    let repeated = app.agent.call("request_refund", arguments).await.ok();
    assert_eq!(repeated["action_id"], asked["action_id"]);
    assert_eq!(repeated["disposition"], "joined");

    let status = json!({ "action_id": asked["action_id"] });
    assert_eq!(app.agent.call("get_action_status", status.clone()).await.ok()["status"], "pending");
    assert_eq!(app.reader.call("get_action_status", status).await.code(), "not_found");
    assert_eq!(app.order_now("#1001").await.refunded_minor, 0);
}

backends!(an_agent_is_shown_what_its_scopes_allow);
async fn an_agent_is_shown_what_its_scopes_allow(app: &TestApp) {
    let names = |tools: Vec<serde_json::Value>| -> Vec<String> {
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(names(app.agent.tools().await).contains(&"request_refund".to_owned()));
    assert!(!names(app.reader.tools().await).iter().any(|name| name.starts_with("request_")));
    let arguments = json!({ "order_id": "1001", "amount_minor": 1, "currency": "INR", "reason": "Broken" });
    assert_eq!(app.reader.call("request_refund", arguments).await.code(), "scope_missing");
}
