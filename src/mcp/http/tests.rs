//! The mount through a real socket, byte by byte.

mod site;

use serde_json::{Value, json};

use self::site::{MODERN, Site, meta};
use crate::mcp::LARGEST_MESSAGE;

fn call(tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[actix_web::test]
async fn a_client_of_2025_initializes_lists_and_calls() {
    let site = Site::start().await;
    for version in ["2025-06-18", "2025-11-25"] {
        let reply = site
            .post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}))
            .await;
        let result = &reply.json()["result"];
        assert_eq!((reply.status, &result["protocolVersion"]), (200, &json!(version)), "{result}");
        assert_eq!(result["serverInfo"]["name"], "countersign");
        assert!(result["capabilities"]["tools"].is_object());
        assert!(!reply.head.contains("mcp-session-id"), "{}", reply.head);

        let headers = [("MCP-Protocol-Version", version)];
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
        let reply = site.send("POST", &headers, &initialized).await;
        assert_eq!((reply.status, reply.body.as_str()), (202, ""));

        let list = json!({"jsonrpc": "2.0", "id": "l", "method": "tools/list"}).to_string();
        let reply = site.send("POST", &headers, &list).await;
        assert_eq!(reply.json()["id"], "l");
        assert_eq!(reply.json()["result"]["tools"][0]["name"], "echo", "{}", reply.body);
        assert_eq!(reply.json()["result"]["resultType"], Value::Null);

        let reply = site.send("POST", &headers, &call("echo", json!({"text": "hello"})).to_string()).await;
        let result = &reply.json()["result"];
        assert_eq!(result["structuredContent"], json!({"text": "hello"}));
        assert_eq!(result["isError"], false);
        assert_eq!(result["content"][0]["text"], result["structuredContent"].to_string());
    }
}

#[actix_web::test]
async fn a_client_of_2026_discovers_lists_and_calls_without_a_handshake() {
    let site = Site::start().await;
    let reply = site.modern("server/discover", None, json!({})).await;
    let result = &reply.json()["result"];
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(
        result["supportedVersions"]
            .as_array()
            .is_some_and(|versions| versions.contains(&json!(MODERN)))
    );
    assert_eq!(result["resultType"], "complete");

    let reply = site.modern("tools/list", None, json!({})).await;
    let result = &reply.json()["result"];
    assert_eq!(
        (&result["resultType"], &result["cacheScope"]),
        (&json!("complete"), &json!("private")),
        "{result}"
    );

    let reply = site
        .modern("tools/call", Some("echo"), json!({"name": "echo", "arguments": {"text": "hello"}}))
        .await;
    let result = &reply.json()["result"];
    assert_eq!(result["structuredContent"], json!({"text": "hello"}), "{result}");
    assert_eq!(result["resultType"], "complete");
}

#[actix_web::test]
async fn headers_must_match_the_body_in_2026() {
    let site = Site::start().await;
    let params = json!({"name": "echo", "arguments": {}, "_meta": meta(MODERN)});
    let message = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}).to_string();
    let version = ("MCP-Protocol-Version", MODERN);
    for headers in [
        vec![version],
        vec![version, ("Mcp-Method", "tools/list"), ("Mcp-Name", "echo")],
        vec![version, ("Mcp-Method", "tools/call")],
        vec![version, ("Mcp-Method", "tools/call"), ("Mcp-Name", "other")],
        vec![("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "echo")],
        vec![("Mcp-Method", "tools/call"), ("Mcp-Name", "echo")],
    ] {
        let body = site.send("POST", &headers, &message).await.error(400, -32020);
        assert_eq!(body["id"], 5, "{headers:?}");
    }
    site.send(
        "POST",
        &[version, ("Mcp-Method", "tools/list")],
        &json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list"}).to_string(),
    )
    .await
    .error(400, -32602);
}

#[actix_web::test]
async fn unsupported_versions_are_refused() {
    let site = Site::start().await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    site.send("POST", &[("MCP-Protocol-Version", "1999-01-01")], &list)
        .await
        .error(400, -32600);
    let list =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta("2030-01-01")}});
    let headers = [("MCP-Protocol-Version", "2030-01-01"), ("Mcp-Method", "tools/list")];
    site.send("POST", &headers, &list.to_string()).await.error(400, -32022);
}

#[actix_web::test]
async fn without_a_good_key_nothing_is_read() {
    let site = Site::start().await;
    let basic = site.key.replace("Bearer", "Basic");
    let bare = site.key.replace("Bearer ", "");
    for authorization in ["", "Bearer bad", "Bearer", &basic, &bare] {
        let reply = site.send("POST", &[("Authorization", authorization)], "not even JSON").await;
        assert_eq!(reply.status, 401, "{authorization}");
        assert!(reply.head.contains("www-authenticate: bearer realm=\"countersign\""), "{}", reply.head);
        assert_eq!(reply.json()["error"]["code"], "unauthenticated");
    }
    let twice = [("Authorization", site.key.as_str()), ("Authorization", site.key.as_str())];
    assert_eq!(site.send("POST", &twice, "{}").await.status, 401);
}

#[actix_web::test]
async fn while_the_database_is_away_a_call_is_answered_as_a_call() {
    let site = Site::away();
    let (call, list) = (call("echo", json!({})), json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let (call, list) = tokio::join!(site.post(&call), site.post(&list));
    let result = &call.json()["result"];
    assert_eq!((call.status, &result["isError"]), (200, &json!(true)));
    assert_eq!(result["structuredContent"]["error"]["code"], "unavailable");
    assert_eq!(list.error(200, -32603)["error"]["data"]["code"], "unavailable");
}

#[actix_web::test]
async fn foreign_origins_stay_out() {
    let site = Site::start().await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    assert_eq!(site.send("POST", &[("Host", "")], &list).await.status, 400);
    for origin in ["https://gate.example.com", "https://gate.example.com:443"] {
        assert_eq!(site.send("POST", &[("Origin", origin)], &list).await.status, 200, "{origin}");
    }
    for origin in [
        "https://evil.example",
        "http://gate.example.com",
        "https://gate.example.com:8443",
        "null",
        "x",
    ] {
        site.send("POST", &[("Origin", origin)], &list).await.error(403, -32600);
    }
}

#[actix_web::test]
async fn only_post_and_only_json() {
    let site = Site::start().await;
    for method in ["GET", "DELETE", "PUT"] {
        let reply = site.send(method, &[], "").await;
        reply.error(405, -32600);
        assert!(reply.head.contains("allow: post"), "{}", reply.head);
    }
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    site.send("POST", &[("Accept", "text/html")], &list).await.error(406, -32600);
    site.send("POST", &[("Content-Type", "text/plain")], &list).await.error(415, -32600);
}

#[actix_web::test]
async fn large_bodies_are_refused_in_the_protocols_words() {
    let site = Site::start().await;
    for size in [LARGEST_MESSAGE, 5_000_000] {
        let body = call("echo", json!({"text": "x".repeat(size)})).to_string();
        let error = site.send("POST", &[], &body).await.error(413, -32600);
        assert!(!error.to_string().contains("262"), "{error}");
    }
    let body = call("echo", json!({"text": "x".repeat(200_000)})).to_string();
    assert_eq!(site.send("POST", &[], &body).await.json()["result"]["isError"], false);
    let reply = site.send("POST", &[("Authorization", "")], &"x".repeat(5_000_000)).await;
    assert_eq!(reply.status, 401);
}

#[actix_web::test]
async fn what_is_wrong_is_said_where_it_belongs() {
    let site = Site::start().await;
    let reply = site.send("POST", &[], r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"a":1,"a":2}}}"#).await;
    assert_eq!(reply.status, 200);
    let result = &reply.json()["result"];
    assert_eq!(
        (&result["isError"], &result["structuredContent"]["error"]["message"]),
        (&json!(true), &json!("`a` is given twice."))
    );

    for (message, status, code, id) in [
        ("{", 400, -32700, Value::Null),
        ("[]", 400, -32600, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]"#, 400, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"tools/list"}"#, 400, -32600, Value::Null),
        (r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#, 400, -32600, json!(1)),
        (r#"{"id":1,"method":"tools/list"}"#, 400, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, 400, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, 400, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 400, -32600, Value::Null),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":1,"name":"echo"}}"#,
            400,
            -32602,
            json!(1),
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, 200, -32602, json!(1)),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#,
            200,
            -32602,
            json!(1),
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}"#, 400, -32602, json!(1)),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop_table"}}"#,
            200,
            -32602,
            json!(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}"#,
            200,
            -32602,
            json!(1),
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, 200, -32601, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#, 200, -32601, json!(1)),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"x"}}"#,
            200,
            -32601,
            json!(1),
        ),
    ] {
        let reply = site.send("POST", &[], message).await;
        let body = reply.json();
        assert_eq!(
            (reply.status, &body["error"]["code"], &body["id"]),
            (status, &json!(code), &id),
            "{message}: {body}"
        );
        let said = body["error"]["message"].as_str().unwrap_or_default();
        assert!(code != -32601 || said.ends_with("tools/list and tools/call."), "{said}");
        assert!(!said.contains("expected") && !said.contains(" line ") && !said.contains("::"), "{said}");
    }
}

#[actix_web::test]
async fn an_unknown_method_of_2026_is_told_of_in_a_sentence() {
    let site = Site::start().await;
    for method in ["foo", "ping", "resources/list"] {
        let reply = site.modern(method, None, json!({})).await;
        let error = &reply.json()["error"];
        assert_eq!((reply.status, &error["code"]), (404, &json!(-32601)), "{method}");
        let said = error["message"].as_str().expect("a sentence");
        assert!(said.ends_with("tools/list and tools/call."), "{method}: {said}");
    }
}

#[actix_web::test]
async fn a_defect_is_an_internal_error_and_nothing_hangs() {
    let site = Site::start().await;
    let result = site.post(&call("broken", json!({}))).await.json();
    assert_eq!(result["result"]["structuredContent"]["error"]["code"], "internal");
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(site.post(&ping).await.json()["result"], json!({}));
}

#[actix_web::test]
async fn who_waits_for_no_person_is_not_told_of_one() {
    let site = Site::start().await;
    let mut call = call("slow", json!({"millis": 6_000}));
    call["params"]["_meta"] = json!({"progressToken": "slow"});
    let reply = site.post(&call).await;
    assert!(!reply.body.contains("person"), "{}", reply.body);
    assert_eq!(reply.json()["result"]["isError"], false);
}
