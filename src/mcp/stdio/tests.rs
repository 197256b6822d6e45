//! The whole transport over two pipes, line by line.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines},
    task::JoinHandle,
};

use super::serve;
use crate::{
    error::{Error, Result},
    gateway::Gateway,
    mcp::testing::{self, Trial, call, modern},
};

struct Client {
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    server: JoinHandle<Result<()>>,
    _trial: Option<Trial>,
}

impl Client {
    async fn start() -> Self {
        let trial = Trial::new().await;
        let client = Self::of(trial.gateway.clone(), &trial.key);
        Self {
            _trial: Some(trial),
            ..client
        }
    }

    fn of(gateway: Gateway, key: &str) -> Self {
        let (input, server_input) = tokio::io::duplex(1 << 20);
        let (server_output, output) = tokio::io::duplex(1 << 20);
        let server = tokio::spawn(serve(gateway, key.to_owned(), server_input, server_output));
        Self {
            input,
            output: BufReader::new(output).lines(),
            server,
            _trial: None,
        }
    }

    async fn initialized(version: &str) -> Self {
        let mut client = Self::start().await;
        client
            .send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}))
            .await;
        let answer = client.answer().await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    async fn line(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.expect("the server reads");
    }

    async fn send(&mut self, message: Value) {
        self.line(&message.to_string()).await;
    }

    async fn answer(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(30), self.output.next_line()).await;
        let line = line.expect("in time").expect("readable").expect("an answer");
        serde_json::from_str(&line).expect("nothing but JSON on the output")
    }

    /// Closes the input; the answers that were still due.
    async fn end(mut self) -> Vec<Value> {
        drop(self.input);
        let mut rest = Vec::new();
        while let Some(line) = self.output.next_line().await.expect("readable") {
            rest.push(serde_json::from_str(&line).expect("nothing but JSON on the output"));
        }
        self.server.await.expect("no panic").expect("a clean end");
        rest
    }
}

#[tokio::test]
async fn a_client_of_2025_initializes_lists_and_calls() {
    for version in ["2025-06-18", "2025-11-25"] {
        let mut client = Client::initialized(version).await;
        client.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
        let answer = client.answer().await;
        assert_eq!(answer["result"]["tools"][0]["name"], "echo");
        assert_eq!(answer["result"]["resultType"], Value::Null);
        client.send(call(2, "echo", json!({"text": "hello"}))).await;
        let result = &client.answer().await["result"];
        assert_eq!(result["structuredContent"], json!({"text": "hello"}));
        assert!(client.end().await.is_empty());
    }
}

#[tokio::test]
async fn a_client_of_2026_discovers_lists_and_calls_without_a_handshake() {
    let mut client = Client::start().await;
    client
        .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}))
        .await;
    client.send(modern(1, "server/discover", json!({}))).await;
    assert_eq!(client.answer().await["result"]["resultType"], "complete");
    client.send(modern(2, "tools/list", json!({}))).await;
    assert_eq!(client.answer().await["result"]["cacheScope"], "private");
    client
        .send(modern(3, "tools/call", json!({"name": "echo", "arguments": {"text": "hello"}})))
        .await;
    let result = &client.answer().await["result"];
    assert_eq!(
        (&result["structuredContent"]["text"], &result["resultType"]),
        (&json!("hello"), &json!("complete"))
    );
    client.send(json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list"})).await;
    assert_eq!(client.answer().await["error"]["code"], -32602);
    client.end().await;
}

#[tokio::test]
async fn requests_run_side_by_side_and_all_are_answered_before_the_end() {
    let mut client = Client::initialized("2025-11-25").await;
    client.send(call(1, "slow", json!({"millis": 600}))).await;
    client.send(call(2, "echo", json!({}))).await;
    assert_eq!(client.answer().await["id"], 2);
    client.send(call(3, "slow", json!({"millis": 300}))).await;
    let rest: Vec<Value> = client.end().await.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(rest, [3, 1]);
}

#[tokio::test]
async fn what_takes_longer_than_the_library_waits_is_still_answered() {
    let mut client = Client::initialized("2025-11-25").await;
    client.send(call(1, "slow", json!({"millis": 6500}))).await;
    assert_eq!(client.end().await[0]["result"]["isError"], false);
}

#[tokio::test]
async fn an_id_is_refused_while_another_request_of_that_id_waits() {
    let mut client = Client::initialized("2025-11-25").await;
    client.send(call(1, "slow", json!({"millis": 600}))).await;
    client.send(call(1, "echo", json!({"text": "second"}))).await;
    let refused = client.answer().await;
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32600), &Value::Null), "{refused}");
    let said = refused["error"]["message"].as_str().expect("a sentence");
    assert!(said.contains("same id"), "{said}");
    let first = client.answer().await;
    assert_eq!((&first["id"], &first["result"]["structuredContent"]), (&json!(1), &json!({})));
    // Careless, but nobody is misled.
    for _ in 0..50 {
        client.send(call(1, "echo", json!({"text": "again"}))).await;
        assert_eq!(client.answer().await["result"]["structuredContent"]["text"], "again");
    }
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn an_unknown_method_is_told_of_in_a_sentence() {
    let mut old = Client::initialized("2025-11-25").await;
    for method in ["foo", "resources/list", "prompts/get", "logging/setLevel", "tasks/get"] {
        let params = json!({"uri": "x", "name": "x", "level": "info", "taskId": "x"});
        old.send(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await;
        assert_says_what_there_is(&old.answer().await, method);
    }
    old.end().await;
    let mut new = Client::start().await;
    new.send(modern(1, "server/discover", json!({}))).await;
    new.answer().await;
    for method in ["foo", "ping", "resources/list"] {
        new.send(modern(2, method, json!({}))).await;
        assert_says_what_there_is(&new.answer().await, method);
    }
    new.end().await;
}

fn assert_says_what_there_is(answer: &Value, method: &str) {
    assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    let said = answer["error"]["message"].as_str().expect("a sentence");
    assert!(said.ends_with("tools/list and tools/call."), "{method}: {said}");
}

#[tokio::test]
async fn a_cancelled_request_is_not_answered_and_not_waited_for() {
    let mut client = Client::initialized("2025-11-25").await;
    client.send(call(1, "slow", json!({"millis": 1000}))).await;
    client
        .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    client.send(call(2, "echo", json!({}))).await;
    assert_eq!(client.answer().await["id"], 2);
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn what_is_wrong_is_said_where_it_belongs() {
    let mut client = Client::initialized("2025-11-25").await;
    for (line, code, id) in [
        ("{", -32700, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#, -32602, json!(1)),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop_table"}}"#,
            -32602,
            json!(1),
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, -32601, json!(1)),
        (&"x".repeat(300_000), -32600, Value::Null),
    ] {
        client.line(line).await;
        let answer = client.answer().await;
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{answer}");
    }
    // Neither of these has anybody to answer to.
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":7}"#).await;
    client.line(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#).await;
    client.line(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"a":1.5}}}"#).await;
    let answer = client.answer().await;
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(3), &json!(true)));
    client.send(call(4, "broken", json!({}))).await;
    assert_eq!(client.answer().await["result"]["structuredContent"]["error"]["code"], "internal");
    client.end().await;
}

#[tokio::test]
async fn a_bad_key_ends_it_at_once_and_an_absent_database_does_not() {
    let trial = Trial::new().await;
    let client = Client::of(trial.gateway.clone(), "cs_a_bad");
    let ended = client.server.await.expect("no panic");
    assert!(matches!(ended, Err(Error::Setup(sentence)) if sentence.contains("COUNTERSIGN_AGENT_KEY")));

    let mut client = Client::of(testing::away(), "any");
    client.send(modern(1, "tools/call", json!({"name": "echo"}))).await;
    assert_eq!(client.answer().await["result"]["structuredContent"]["error"]["code"], "unavailable");
    client.end().await;
}

#[tokio::test]
async fn an_input_that_ends_before_it_begins_is_no_error() {
    assert!(Client::start().await.end().await.is_empty());
}
