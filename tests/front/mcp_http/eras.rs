//! Both protocol eras, with a real client and byte by byte.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Agent, Client, Era, TestApp, backends};

const MODERN: &str = "2026-07-28";

backends!(a_real_client_of_each_era_reads_asks_and_looks);
async fn a_real_client_of_each_era_reads_asks_and_looks(app: &TestApp) {
    app.order("#1001", 90_000).await;
    for (amount, era) in (1..).zip(Era::ALL) {
        let client = Client::over_http(&app.agent, era).await;
        let settled = match era {
            Era::Handshake(version) => version,
            Era::Discovery => MODERN,
        };
        assert_eq!(client.version(), settled);
        assert_eq!(client.tools().await, app.agent.tools().await);

        let order = client.call("get_order", json!({ "order_id": "1001" })).await.ok();
        assert_eq!((&order["order_id"], &order["total_minor"]), (&json!("#1001"), &json!(90_000)));
        let refund =
            json!({ "order_id": "1001", "amount_minor": amount, "currency": "INR", "reason": "Broken" });
        let asked = client.call("request_refund", refund).await.ok();
        let seen = client.call("get_action_status", json!({ "action_id": asked["action_id"] })).await.ok();
        assert_eq!((&seen["status"], &seen["summary"]), (&json!("pending"), &asked["summary"]));

        let missing = client.call("get_order", json!({ "order_id": "1" })).await;
        assert_eq!(missing.code(), "not_found", "{era:?}");
        assert!(client.try_call("drop_table", json!({})).await.is_err());
        client.close().await;
    }
}

backends!(the_handshake_of_2025_keeps_no_session);
async fn the_handshake_of_2025_keeps_no_session(app: &TestApp) {
    for version in ["2025-06-18", "2025-11-25"] {
        let hello = json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" }
        });
        let response = app.agent.request().body(message("initialize", hello)).send().await.unwrap();
        assert!(!response.headers().contains_key("mcp-session-id"));
        let reply: Value = response.json().await.unwrap();
        assert_eq!(reply["result"]["protocolVersion"], version);
        assert_eq!(reply["result"]["serverInfo"]["name"], "countersign");
        assert_eq!(reply["result"]["capabilities"], json!({ "tools": {} }));
        assert!(reply["result"]["instructions"].as_str().unwrap().contains("nothing has happened"));

        let versioned = || app.agent.request().header("mcp-protocol-version", version);
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let response = versioned().body(ready.to_string()).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::ACCEPTED);

        let call = message("tools/call", json!({ "name": "get_order", "arguments": { "order_id": "1" } }));
        let reply: Value = versioned().body(call).send().await.unwrap().json().await.unwrap();
        assert_eq!(reply["result"]["structuredContent"]["error"]["code"], "not_found");
        assert_eq!(reply["result"]["resultType"], Value::Null, "2026 alone has result types");
    }
}

backends!(in_2026_every_request_speaks_for_itself);
async fn in_2026_every_request_speaks_for_itself(app: &TestApp) {
    let found = modern(&app.agent, "server/discover", None, json!({})).await;
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(MODERN)), "{found}");
    assert_eq!(found["result"]["resultType"], "complete");

    let list = modern(&app.agent, "tools/list", None, json!({})).await;
    assert_eq!(list["result"]["tools"], json!(app.agent.tools().await));
    assert_eq!(list["result"]["cacheScope"], "private", "what one key is shown, no other may see");

    let call = json!({ "name": "get_order", "arguments": { "order_id": "1" } });
    let reply = modern(&app.agent, "tools/call", Some("get_order"), call).await;
    assert_eq!(reply["result"]["resultType"], "complete");
    assert_eq!(reply["result"]["structuredContent"]["error"]["code"], "not_found");
}

backends!(what_headers_and_body_disagree_on_is_not_done);
async fn what_headers_and_body_disagree_on_is_not_done(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let refund = json!({ "order_id": "1001", "amount_minor": 1, "currency": "INR", "reason": "Broken" });
    let call = json!({ "name": "request_refund", "arguments": refund, "_meta": meta() });
    for (method, name) in [("tools/list", "request_refund"), ("tools/call", "get_order")] {
        let request = app.agent.request().header("mcp-protocol-version", MODERN);
        let request = request.header("mcp-method", method).header("mcp-name", name);
        let response = request.body(message("tools/call", call.clone())).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{method} {name}");
    }
    let request = app.agent.request().header("mcp-protocol-version", "1999-01-01");
    let response = request.body(message("tools/list", json!({}))).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert_eq!(app.agent.call("list_actions", json!({})).await.ok()["actions"], json!([]));
}

async fn modern(agent: &Agent, method: &str, name: Option<&str>, mut params: Value) -> Value {
    params["_meta"] = meta();
    let request = agent.request().header("mcp-protocol-version", MODERN).header("mcp-method", method);
    let request = name.into_iter().fold(request, |request, name| request.header("mcp-name", name));
    request.body(message(method, params)).send().await.unwrap().json().await.unwrap()
}

fn message(method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}
