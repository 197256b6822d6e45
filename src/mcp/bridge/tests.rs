//! The bridge between a client's pipes and a real server on a socket.

mod site;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::site::{Client, Site, impostor};
use super::run;
use crate::{
    error::Error,
    mcp::testing::{call, modern},
};

#[actix_web::test]
async fn a_client_of_2025_goes_through() {
    for version in ["2025-06-18", "2025-11-25"] {
        let site = Site::start().await;
        let mut client = site.client();
        let initialize = json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
        let answer = client.ask(initialize).await;
        assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&json!("i"), &json!(version)));
        client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        let answer = client.ask(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
        assert_eq!(answer["result"]["tools"][0]["name"], "echo");
        let answer = client.ask(call(2, "echo", json!({"text": "ä\n"}))).await;
        assert_eq!(answer["result"]["structuredContent"], json!({"text": "ä\n"}));
        assert!(client.end().await.is_empty());
    }
}

#[actix_web::test]
async fn a_client_of_2026_goes_through() {
    let site = Site::start().await;
    let mut client = site.client();
    assert_eq!(
        client.ask(modern(1, "server/discover", json!({}))).await["result"]["resultType"],
        "complete"
    );
    assert_eq!(client.ask(modern(2, "tools/list", json!({}))).await["result"]["cacheScope"], "private");
    let answer = client.ask(modern(3, "tools/call", json!({"name": "echo", "arguments": {}}))).await;
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    let answer = client.ask(modern(4, "tools/call", json!({"name": "größe"}))).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    client.end().await;
}

#[actix_web::test]
async fn the_server_judges_the_bytes_as_they_were_sent() {
    let site = Site::start().await;
    let mut client = site.client();
    client.line(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1,"a":2}}}"#).await;
    let answer = client.answer().await;
    assert_eq!(answer["result"]["structuredContent"]["error"]["message"], "`a` is given twice.");
    client.line("[]").await;
    assert_eq!(client.answer().await["error"]["code"], -32600);
    client.line("{").await;
    assert_eq!(client.answer().await["error"]["code"], -32700);
    client.end().await;
}

#[actix_web::test]
async fn requests_run_side_by_side_and_all_are_answered_before_the_end() {
    let site = Site::start().await;
    let mut client = site.client();
    client.line(&call(1, "slow", json!({"millis": 800})).to_string()).await;
    assert_eq!(client.ask(call(2, "echo", json!({}))).await["id"], 2);
    let rest = client.end().await;
    assert_eq!((rest.len(), &rest[0]["id"]), (1, &json!(1)));
}

#[actix_web::test]
async fn a_cancelled_request_is_let_go() {
    let site = Site::start().await;
    let mut client = site.client();
    let begun = Instant::now();
    client.line(&call(1, "slow", json!({"millis": 8000})).to_string()).await;
    client
        .line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    assert_eq!(client.ask(call(2, "echo", json!({}))).await["id"], 2);
    assert!(client.end().await.is_empty());
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[actix_web::test]
async fn a_server_that_is_away_leaves_the_outcome_open() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|it| it.local_addr())
        .expect("a free port");
    for url in [
        format!("http://{gone}"),
        impostor(502, "text/html", "<h1>Bad Gateway</h1>"),
        impostor(503, "application/json", "{}"),
    ] {
        let mut client = Client::start(&url, "good");
        let answer = client.ask(call(1, "echo", json!({}))).await;
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(1), &json!(true)), "{answer}");
        let error = &answer["result"]["structuredContent"]["error"];
        assert_eq!(error["code"], "unavailable");
        assert!(
            error["message"].as_str().is_some_and(|said| said.contains("Send the same call again")),
            "{error}"
        );
        assert_eq!(answer["result"]["resultType"], Value::Null);
        let answer = client.ask(modern(2, "tools/call", json!({"name": "echo"}))).await;
        assert_eq!(answer["result"]["resultType"], "complete");
        let answer = client.ask(json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})).await;
        assert_eq!((&answer["id"], &answer["error"]["data"]["code"]), (&json!(3), &json!("unavailable")));
        client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        assert!(client.end().await.is_empty());
    }
}

#[actix_web::test]
async fn a_key_that_is_not_good_is_said_to_be() {
    let site = Site::start().await;
    let mut client = Client::start(&site.url, "cs_a_bad");
    let answer = client.ask(call(1, "echo", json!({}))).await;
    let error = &answer["result"]["structuredContent"]["error"];
    assert_eq!(error["code"], "unauthenticated");
    assert!(error["message"].as_str().is_some_and(|said| said.contains("COUNTERSIGN_AGENT_KEY")));
    let answer = client.ask(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).await;
    assert_eq!(answer["error"]["data"]["code"], "unauthenticated");
    client.end().await;

    let busy = r#"{"error":{"code":"rate_limited","message":"Too many.","retry_after_seconds":7}}"#;
    let mut client = Client::start(&impostor(429, "application/json", busy), "good");
    let answer = client.ask(call(1, "echo", json!({}))).await;
    assert_eq!(answer["result"]["structuredContent"]["error"]["retry_after_seconds"], 7);
    client.end().await;
}

#[actix_web::test]
async fn what_is_not_countersign_is_not_passed_on() {
    for url in [
        impostor(200, "text/html", "<h1>It works!</h1>"),
        impostor(404, "text/plain", "no"),
        impostor(301, "text/plain", ""),
        impostor(200, "application/json", r#"{"hello":"world"}"#),
    ] {
        let mut client = Client::start(&url, "good");
        let answer = client.ask(call(1, "echo", json!({}))).await;
        let error = &answer["result"]["structuredContent"]["error"];
        assert!(
            error["message"].as_str().is_some_and(|said| said.contains("is not Countersign")),
            "{answer}"
        );
        client.end().await;
    }
}

#[actix_web::test]
async fn what_the_server_tells_before_its_answer_is_passed_on() {
    let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": 1, "progress": 5 } });
    let answer = json!({ "jsonrpc": "2.0", "id": 7, "result": { "isError": false } });
    let body = format!("id: 0\ndata:\n\ndata: {progress}\n\ndata: {answer}\n\n");
    let mut client = Client::start(&impostor(200, "text/event-stream", body.leak()), "good");
    assert_eq!(client.ask(call(7, "echo", json!({}))).await, progress);
    assert_eq!(client.answer().await, answer);
    client.end().await;

    let body = format!("data: {progress}\n\n");
    let mut client = Client::start(&impostor(200, "text/event-stream", body.leak()), "good");
    client.ask(call(7, "echo", json!({}))).await;
    let error = &client.answer().await["result"]["structuredContent"]["error"];
    assert!(
        error["message"].as_str().is_some_and(|said| said.contains("outcome is unknown")),
        "{error}"
    );
    client.end().await;
}

#[actix_web::test]
async fn where_nothing_listens_nothing_is_in_doubt() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("an address");
    let mut client = Client::start(&format!("http://{gone}"), "good");
    let error = &client.ask(call(7, "echo", json!({}))).await["result"]["structuredContent"]["error"];
    assert_eq!(error["code"], "unavailable");
    assert!(
        error["message"].as_str().is_some_and(|said| said.contains("did not get there")),
        "{error}"
    );
    client.end().await;
}

#[actix_web::test]
async fn an_error_without_an_id_gets_the_one_it_answers() {
    let body = "{\"jsonrpc\":\"2.0\",\n\"error\":{\"code\":-32600,\"message\":\"No.\"}}";
    let mut client = Client::start(&impostor(413, "application/json", body), "good");
    assert_eq!(client.ask(call(7, "echo", json!({}))).await["id"], 7);
    client.end().await;
}

#[actix_web::test]
async fn a_wrong_set_up_is_named() {
    for (url, key, name) in [
        ("gate.example.com", "k", "COUNTERSIGN_URL"),
        ("ftp://gate.example.com", "k", "COUNTERSIGN_URL"),
        ("", "k", "COUNTERSIGN_URL"),
        ("http://127.0.0.1:1", " ", "COUNTERSIGN_AGENT_KEY"),
        ("http://127.0.0.1:1", "a\nb", "COUNTERSIGN_AGENT_KEY"),
    ] {
        let ended = run(url, key, tokio::io::empty(), tokio::io::sink()).await;
        assert!(
            matches!(&ended, Err(Error::Setup(sentence)) if sentence.contains(name)),
            "{url} {key}: {ended:?}"
        );
    }
}

#[test]
fn the_address_may_end_in_mcp() {
    for url in [
        "https://gate.example.com",
        "https://gate.example.com/",
        "https://gate.example.com/mcp",
        " https://gate.example.com/mcp/ ",
    ] {
        assert_eq!(super::endpoint(url).map(String::from), Some("https://gate.example.com/mcp".to_owned()));
    }
    assert_eq!(
        super::endpoint("http://[::1]:8/gate").map(String::from),
        Some("http://[::1]:8/gate/mcp".to_owned())
    );
}
