//! What an agent may do is what its scopes say, at the moment of the call.

use countersign::store::events::{self, Filter};
use serde_json::{Value, json};

use crate::support::{TestApp, backends};

backends!(a_tool_that_no_scope_allows_is_neither_shown_nor_served);
async fn a_tool_that_no_scope_allows_is_neither_shown_nor_served(app: &TestApp) {
    let agent = app.add_agent("newcomer", &[]).await;
    let tools = agent.tools().await;
    let shown = names(&tools);
    for tool in app.agent.tools().await {
        let name = tool["name"].as_str().unwrap();
        if shown.contains(&name) {
            continue;
        }
        let refused = agent.call(name, json!({})).await;
        assert_eq!(refused.code(), "scope_missing", "{name}");
        let message = refused.body["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("the scope orders:") || message.contains("the scope inventory:"),
            "{message}"
        );
    }
    for own in ["get_action_status", "list_actions", "withdraw_action"] {
        assert!(shown.contains(&own), "an agent without scopes looks after its actions");
    }
}

backends!(a_call_beyond_the_scopes_is_in_the_log);
async fn a_call_beyond_the_scopes_is_in_the_log(app: &TestApp) {
    let refund = json!({ "order_id": "1001", "amount_minor": 1, "currency": "INR", "reason": "Broken" });
    app.reader.call("request_refund", refund).await.code();
    let denied = Filter {
        denied: Some(true),
        limit: 2,
        ..Filter::default()
    };
    let log = app.inner.db.read(move |conn| events::page(conn, &denied)).await.unwrap();
    assert_eq!(log.len(), 1);
    let event: Value = serde_json::from_str(&log[0].body).unwrap();
    assert_eq!((&event["outcome"], &event["tool"]), (&json!("scope_missing"), &json!("request_refund")));
    assert_eq!((&event["door"], &event["address"]), (&json!("mcp_http"), &json!("127.0.0.1")));
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}
