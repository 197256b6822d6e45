//! Line by line: what a careless or a hostile client writes, and what the program says on which stream.

use serde_json::json;

use super::pipe::{Behind, Pipe};
use crate::failures::told;
use crate::support::program::Program;
use crate::support::{Agent, TestApp, backends};

backends!(only_messages_are_on_standard_output);
async fn only_messages_are_on_standard_output(app: &TestApp) {
    app.order("#1001", 90_000).await;
    for behind in Behind::BOTH {
        let mut pipe = Pipe::open(&behind.program(app, &app.agent));
        pipe.shake_hands();
        let long = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#,
            "x".repeat(300_000)
        );
        for (line, code) in [
            ("nonsense", -32700),
            ("{\"jsonrpc\":\"2.0\",", -32700),
            ("[]", -32600),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#, -32602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"no/such/method"}"#, -32601),
            (&long, -32600),
        ] {
            pipe.say(line);
            let heard = pipe.hear();
            let shown = &line[..line.len().min(80)];
            assert_eq!(heard["error"]["code"], code, "{behind:?} {shown}: {heard}");
        }
        pipe.say("");
        pipe.say(r#"{"jsonrpc":"2.0","method":"notifications/no_such_notification"}"#);
        assert_eq!(pipe.ask(&json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" }))["id"], "p");
        let (rest, ended_well, log) = pipe.close();
        assert!(rest.is_empty() && ended_well, "{behind:?}: {rest:?} {log}");
        assert!(!log.contains(&app.agent.key) && !log.contains("panicked"), "{log}");
    }
}

backends!(the_strict_reader_reads_every_line);
async fn the_strict_reader_reads_every_line(app: &TestApp) {
    app.order("#1001", 90_000).await;
    for behind in Behind::BOTH {
        let mut pipe = Pipe::open(&behind.program(app, &app.agent));
        pipe.shake_hands();
        let before = app.rows().await;
        for amount in ["1.0", "1e2", "9007199254740993", "1,\"amount_minor\":90000", "\"\\ud800\""] {
            pipe.say(&format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"request_refund","arguments":{{"order_id":"1001","amount_minor":{amount},"currency":"INR","reason":"Broken"}}}}}}"#
            ));
            let heard = pipe.hear();
            let error = &heard["result"]["structuredContent"]["error"]["code"];
            assert_eq!(
                (&heard["id"], error),
                (&json!(7), &json!("invalid_params")),
                "{behind:?} {amount}: {heard}"
            );
        }
        assert_eq!(app.grown_since(&before).await, [("events", 5)], "{behind:?}");
        pipe.close();
    }
}

backends!(what_was_asked_before_the_input_ended_is_answered);
async fn what_was_asked_before_the_input_ended_is_answered(app: &TestApp) {
    app.order("#1001", 90_000).await;
    for (amount, behind) in (1..).zip(Behind::BOTH) {
        let mut pipe = Pipe::open(&behind.program(app, &app.agent));
        pipe.shake_hands();
        for id in 0..10 {
            let refund = json!({ "order_id": "1001", "amount_minor": 10 * amount + id % 2, "currency": "INR", "reason": "Broken" });
            let params = json!({ "name": "request_refund", "arguments": refund });
            pipe.say(
                &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string(),
            );
        }
        let (mut rest, ended_well, log) = pipe.close();
        assert!(ended_well, "{log}");
        rest.sort_by_key(|answer| answer["id"].as_i64());
        let ids: Vec<_> = rest.iter().map(|answer| answer["id"].as_i64().unwrap()).collect();
        assert_eq!(ids, (0..10).collect::<Vec<_>>(), "{behind:?}");
        assert!(rest.iter().all(|answer| answer["result"]["isError"] == false), "{rest:#?}");
    }
}

backends!(what_was_denied_before_the_input_ended_is_counted);
async fn what_was_denied_before_the_input_ended_is_counted(app: &TestApp) {
    let leaver = app.add_agent("leaver", &["orders:read"]).await;
    let mut pipe = Pipe::open(&Behind::Database.program(app, &leaver));
    pipe.shake_hands();
    app.inner.auth.revoke("leaver").await.unwrap();
    for id in 1..=5 {
        let list = json!({ "name": "list_actions" });
        let heard = pipe.ask(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": list }));
        assert_eq!(heard["result"]["structuredContent"]["error"]["code"], "unauthenticated", "{heard}");
    }
    assert!(pipe.close().1);
    assert_eq!(told(app, "authentication", "failed_sign_ins").await, 5);
}

backends!(a_wrong_key_is_said_at_once_and_never_shown);
async fn a_wrong_key_is_said_at_once_and_never_shown(app: &TestApp) {
    let key = format!("{}x", app.agent.key);
    let wrong = Agent {
        key: key.clone(),
        ..app.agent.clone()
    };
    let said = Behind::Database.program(app, &wrong).run(&["mcp"]);
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{said:?}");
    assert!(said.err.contains("COUNTERSIGN_AGENT_KEY") && !said.err.contains(&key), "{said:?}");

    let mut pipe = Pipe::open(&Behind::Server.program(app, &wrong));
    let list = json!({ "name": "list_actions" });
    let heard = pipe.ask(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": list }));
    assert_eq!(heard["result"]["structuredContent"]["error"]["code"], "unauthenticated", "{heard}");
    let (_, ended_well, log) = pipe.close();
    assert!(ended_well && !log.contains(&key) && !heard.to_string().contains(&key), "{log}");
}

backends!(a_bridge_to_nowhere_says_so_to_the_agent);
async fn a_bridge_to_nowhere_says_so_to_the_agent(app: &TestApp) {
    let nowhere = Program::bare().with("COUNTERSIGN_URL", "http://127.0.0.1:9");
    let mut pipe = Pipe::open(&nowhere.with("COUNTERSIGN_AGENT_KEY", &app.agent.key));
    let list = json!({ "name": "list_actions" });
    for id in 0..2 {
        let heard = pipe.ask(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": list }));
        let error = &heard["result"]["structuredContent"]["error"];
        assert_eq!((&heard["id"], &error["code"]), (&json!(id), &json!("unavailable")), "{heard}");
        assert!(error["message"].as_str().unwrap().contains("Send the same call again"), "{heard}");
    }
    assert!(pipe.close().1, "it outlives its server");
}
