//! A real client, in both protocol eras.

use serde_json::{Value, json};
use tokio::process::Command;

use super::pipe::Behind;
use crate::support::contract::Contract;
use crate::support::shop::refund;
use crate::support::{Agent, Client, Era, TestApp, backends};

backends!(a_client_of_each_era_reads_asks_and_looks);
async fn a_client_of_each_era_reads_asks_and_looks(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let (contract, tools) = (Contract::of(&app.agent).await, app.agent.tools().await);
    for behind in Behind::BOTH {
        for (amount, era) in (1..).zip(Era::ALL) {
            let client = connect(app, &app.agent, behind, era).await;
            assert_eq!(client.tools().await, tools, "{behind:?} {era:?}");
            let mut asked = Value::Null;
            for (tool, arguments) in [
                ("get_order", json!({ "order_id": "1001" })),
                ("request_refund", refund("1001", amount)),
                ("list_actions", json!({})),
                ("get_order", json!({ "order_id": "1002" })),
            ] {
                let answer = client.call(tool, arguments).await;
                contract.hold(tool, &answer);
                if tool == "request_refund" {
                    asked = answer.ok();
                }
            }
            let seen =
                client.call("get_action_status", json!({ "action_id": asked["action_id"] })).await.ok();
            assert_eq!((&seen["status"], &seen["summary"]), (&json!("pending"), &asked["summary"]));
            client.close().await;
        }
    }
}

backends!(one_write_asked_for_at_every_door_is_one_action);
async fn one_write_asked_for_at_every_door_is_one_action(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let first = app.agent.call("request_refund", refund("1001", 100)).await.ok();
    for behind in Behind::BOTH {
        let client = connect(app, &app.agent, behind, Era::Discovery).await;
        let joined = client.call("request_refund", refund("1001", 100)).await.ok();
        assert_eq!((&joined["action_id"], &joined["disposition"]), (&first["action_id"], &json!("joined")));
        client.close().await;
        let door = match behind {
            Behind::Database => "mcp_stdio",
            Behind::Server => "mcp_http",
        };
        assert_eq!(app.last_event().await["door"], door);
    }
}

backends!(a_reader_is_shown_and_refused_the_same);
async fn a_reader_is_shown_and_refused_the_same(app: &TestApp) {
    for behind in Behind::BOTH {
        let client = connect(app, &app.reader, behind, Era::Handshake("2025-06-18")).await;
        assert_eq!(client.tools().await, app.reader.tools().await);
        assert_eq!(client.call("request_refund", refund("1001", 100)).await.code(), "scope_missing");
        client.close().await;
    }
}

backends!(a_key_that_is_revoked_ends_what_is_connected);
async fn a_key_that_is_revoked_ends_what_is_connected(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let mut clients = Vec::new();
    for behind in Behind::BOTH {
        let client = connect(app, &app.agent, behind, Era::Handshake("2025-11-25")).await;
        client.call("get_order", json!({ "order_id": "1001" })).await.ok();
        clients.push(client);
    }
    app.inner.auth.revoke(&app.agent.name).await.unwrap();
    let before = app.rows().await;
    for client in clients {
        assert_eq!(client.call("request_refund", refund("1001", 100)).await.code(), "unauthenticated");
        client.close().await;
    }
    app.only_denials_since(&before, 2).await;
}

async fn connect(app: &TestApp, agent: &Agent, behind: Behind, era: Era) -> Client {
    let program = behind.program(app, agent);
    Client::over_stdio(Command::from(program.command(&["mcp"])), era).await
}
