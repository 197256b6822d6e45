//! What is no message at all, or not one of this protocol.

use countersign::store::events::{self, Filter};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::calls::assert_leaks_nothing;
use crate::support::{TestApp, backends};

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_actions"}}"#;

backends!(what_is_no_message_is_refused_in_the_protocols_words);
async fn what_is_no_message_is_refused_in_the_protocols_words(app: &TestApp) {
    let before = app.rows().await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}1{}}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    for (message, code) in [
        ("", -32700),
        ("{", -32700),
        ("nonsense", -32700),
        ("{'jsonrpc': '2.0'}", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, -32700),
        ("\u{feff}{}", -32700),
        ("null", -32600),
        ("1", -32600),
        ("[]", -32600),
        ("[[]]", -32600),
        ("{}", -32600),
        (r#"{"id":1,"method":"tools/list"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#, -32600),
        (r#"{"jsonrpc":2.0,"id":1,"method":"tools/list"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"tools/list"}"#, -32600),
        (&deep, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"DROP TABLE orders"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"Tools/List"}"#, -32601),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}"#,
            -32601,
        ),
    ] {
        let (status, body) = app.agent.post(message.to_owned()).await;
        assert!(status == StatusCode::OK || status == StatusCode::BAD_REQUEST, "{message}: {status}");
        assert_leaks_nothing(&body);
        let body: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{message}: {body}"));
        assert_eq!(body["error"]["code"], code, "{message}: {body}");
    }
    app.only_denials_since(&before, 1).await;
}

backends!(a_batch_of_anything_is_refused_whole);
async fn a_batch_of_anything_is_refused_whole(app: &TestApp) {
    let before = app.rows().await;
    for batch in [
        format!("[{CALL}]"),
        format!("[{CALL},{CALL}]"),
        format!("[1,{CALL}]"),
        format!(" [ {CALL} ] "),
    ] {
        let (status, body) = app.agent.post(batch).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &body["error"]["code"]), (StatusCode::BAD_REQUEST, &json!(-32600)), "{body}");
    }
    app.only_denials_since(&before, 1).await;
}

backends!(five_megabytes_are_refused_unread);
async fn five_megabytes_are_refused_unread(app: &TestApp) {
    let before = app.rows().await;
    let padding = "x".repeat(5_000_000);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "get_order", "arguments": { "order_id": padding } } });
    for body in [call.to_string(), padding, " ".repeat(5_000_000) + CALL] {
        let (status, body) = app.agent.post(body).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{body}");
        assert_leaks_nothing(&body);
    }
    app.only_denials_since(&before, 1).await;
    app.agent.call("list_actions", json!({})).await.ok();
}

backends!(what_is_not_json_by_its_own_account_is_not_read);
async fn what_is_not_json_by_its_own_account_is_not_read(app: &TestApp) {
    let before = app.rows().await;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/html",
    ] {
        let request = app.agent.http.post(&app.agent.endpoint).bearer_auth(&app.agent.key);
        let request = request
            .header("accept", "application/json, text/event-stream")
            .header("content-type", kind);
        let response = request.body(CALL).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind}");
        assert_leaks_nothing(&response.text().await.unwrap());
    }
    assert_eq!(app.grown_since(&before).await, []);
}

backends!(a_tool_nobody_knows_is_refused_and_its_name_stays_out_of_the_log);
async fn a_tool_nobody_knows_is_refused_and_its_name_stays_out_of_the_log(app: &TestApp) {
    for name in [
        "drop_table",
        "GET_ORDER",
        "get_order ",
        "get_order\u{200b}",
        "../get_order",
        "",
        "' OR 1=1",
    ] {
        let reply = app.agent.rpc("tools/call", json!({ "name": name, "arguments": {} })).await;
        assert_eq!(reply["error"]["code"], -32602, "{name}: {reply}");
        assert_leaks_nothing(&reply.to_string());
    }
    let everything = Filter {
        limit: 1000,
        ..Filter::default()
    };
    let log = app.inner.db.read(move |conn| events::page(conn, &everything)).await.unwrap();
    let calls: Vec<_> = log.iter().filter(|event| event.event == "tool_call").collect();
    assert!(!calls.is_empty() && calls.len() < 3, "the first in a minute; the others are counted");
    assert!(
        calls.iter().all(|call| call.denied && call.body.contains(r#""tool":"unknown""#)),
        "{calls:?}"
    );
}
