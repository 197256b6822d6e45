//! Being somebody else, or still being somebody.

use countersign::store::people::Role;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::attempt::{attempt, attempt_by, refund, refund_with};
use crate::support::{Agent, TestApp, backends};

backends!(a_tool_beyond_the_scopes_under_another_spelling);
async fn a_tool_beyond_the_scopes_under_another_spelling(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let before = app.rows().await;
    for name in [
        "Request_Refund",
        "request_refund ",
        " request_refund",
        "request-refund",
        "request_refund\u{200b}",
        "request_refund\0",
        "refund",
        "tools/request_refund",
    ] {
        for agent in [&app.agent, &app.reader] {
            let call = json!({ "name": name, "arguments": refund(100) });
            let reply = agent.rpc("tools/call", call).await;
            assert_eq!(reply["error"]["code"], -32602, "{name:?}: {reply}");
        }
    }
    app.only_denials_since(&before, 2).await;
    attempt_by(app, &app.reader, "request_refund", refund(100))
        .await
        .is_refused("scope_missing")
        .await;
}

backends!(a_scope_that_was_taken_away_since_the_list);
async fn a_scope_that_was_taken_away_since_the_list(app: &TestApp) {
    app.order("#1001", 90_000).await;
    assert!(app.agent.tools().await.iter().any(|tool| tool["name"] == "request_refund"));
    set_scopes(app, &["orders:read"]).await;
    attempt(app, "request_refund", refund(100)).await.is_refused("scope_missing").await;
}

backends!(a_scope_that_was_taken_away_since_the_request);
async fn a_scope_that_was_taken_away_since_the_request(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, "request_refund", refund(100)).await.only_waits().await;
    set_scopes(app, &["orders:read"]).await;
    let failed = app.person(Role::Approver).await.approve(&id).await.ok();
    assert_eq!(
        (&failed["status"], &failed["refusal"]["rule"]),
        (&json!("failed"), &json!("scope_missing"))
    );
    assert_eq!(app.order_now("#1001").await.refunded_minor, 0);
}

backends!(a_replay_is_authorised_like_the_first_time);
async fn a_replay_is_authorised_like_the_first_time(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, "request_refund", refund(100)).await.only_waits().await;
    app.person(Role::Approver).await.approve(&id).await.ok();
    attempt(app, "request_refund", refund(100)).await.repeats(&id, "replayed").await;
    set_scopes(app, &["orders:read"]).await;
    attempt(app, "request_refund", refund(100)).await.is_refused("scope_missing").await;
}

backends!(a_revoked_key);
async fn a_revoked_key(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, "request_refund", refund(100)).await.only_waits().await;
    app.inner.auth.revoke(&app.agent.name).await.unwrap();
    let before = app.rows().await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "request_refund", "arguments": refund(200) } });
    assert_eq!(app.agent.post(call.to_string()).await.0, StatusCode::UNAUTHORIZED);
    app.only_denials_since(&before, 1).await;

    let failed = app.person(Role::Approver).await.approve(&id).await.ok();
    assert_eq!(failed["refusal"]["rule"], "agent_revoked", "nor is what it asked for before still done");
    assert_eq!(app.order_now("#1001").await.refunded_minor, 0);
}

backends!(a_rotated_key_is_the_same_agent);
async fn a_rotated_key_is_the_same_agent(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, "request_refund", refund(100)).await.only_waits().await;
    let key = app.inner.auth.rotate(&app.agent.name).await.unwrap().key;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(app.agent.post(list.into()).await.0, StatusCode::UNAUTHORIZED, "the old key is nobody's");
    let renewed = Agent {
        key,
        ..app.agent.clone()
    };
    attempt_by(app, &renewed, "request_refund", refund(100))
        .await
        .repeats(&id, "joined")
        .await;
    assert_eq!(
        renewed.call("get_action_status", json!({ "action_id": id })).await.ok()["status"],
        "pending"
    );
}

backends!(another_agents_action);
async fn another_agents_action(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, "request_refund", refund(100)).await.only_waits().await;
    attempt(app, "request_refund", refund(200)).await.only_waits().await;
    let stranger = app.add_agent("stranger", &["orders:read", "orders:write"]).await;
    for tool in ["get_action_status", "withdraw_action"] {
        attempt_by(app, &stranger, tool, json!({ "action_id": id }))
            .await
            .is_refused("not_found")
            .await;
    }
    let newest = app.agent.call("list_actions", json!({ "limit": 1 })).await.ok();
    let cursor = json!({ "cursor": newest["next_cursor"] });
    let own = app.agent.call("list_actions", cursor.clone()).await.ok();
    assert_eq!(own["actions"][0]["action_id"], json!(id), "the cursor leads somewhere: {own}");
    let list = stranger.call("list_actions", cursor).await.ok();
    assert_eq!(list["actions"], json!([]));
    attempt_by(app, &stranger, "request_refund", refund(100)).await.only_waits().await;
}

backends!(guessed_ids);
async fn guessed_ids(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let stranger = app.add_agent("stranger", &["orders:write"]).await;
    let theirs = attempt_by(app, &stranger, "request_refund", refund(100)).await.only_waits().await;
    let all_but_the_last = &theirs[..theirs.len() - 1];
    let before = app.rows().await;
    let mut answers = Vec::new();
    for digit in "0123456789abcdef".chars() {
        let arguments = json!({ "action_id": format!("{all_but_the_last}{digit}") });
        answers.push(app.agent.call("withdraw_action", arguments).await.body);
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "the right guess looks like the others: {answers:?}");
    assert_eq!(app.grown_since(&before).await, [("events", 16)]);
    let status = stranger.call("get_action_status", json!({ "action_id": theirs })).await.ok();
    assert_eq!(status["status"], "pending");
}

backends!(speaking_for_another_agent);
async fn speaking_for_another_agent(app: &TestApp) {
    app.order("#1001", 90_000).await;
    for (name, value) in [
        ("agent_id", json!("assistant")),
        ("principal", json!("owner")),
        ("status", json!("executed")),
        ("approved_by", json!("owner@example.com")),
        ("amount", json!(1)),
        ("refunded_minor", json!(0)),
    ] {
        attempt(app, "request_refund", refund_with(name, value))
            .await
            .is_refused("invalid_params")
            .await;
    }
}

backends!(an_address_of_ones_own_choice);
async fn an_address_of_ones_own_choice(app: &TestApp) {
    let call =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "list_actions" } });
    let forged = app
        .agent
        .request()
        .header("x-forwarded-for", "10.0.0.1")
        .header("forwarded", "for=10.0.0.1");
    assert_eq!(forged.body(call.to_string()).send().await.unwrap().status(), StatusCode::OK);
    assert_eq!(app.last_event().await["address"], "127.0.0.1");
}

backends!(an_agents_key_at_the_peoples_doors);
async fn an_agents_key_at_the_peoples_doors(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, "request_refund", refund(100)).await.only_waits().await;
    let (before, key) = (app.rows().await, &app.agent.key);
    for path in ["/api/v1/actions", "/api/v1/audit", "/", "/actions", "/orders", "/metrics"] {
        let url = format!("{}{path}", app.url);
        let cookie = format!("cs_session={key}");
        let request = app.agent.http.get(url).header("x-forwarded-for", "10.0.0.1").header("cookie", cookie);
        let status = request.bearer_auth(key).send().await.unwrap().status();
        assert!(status.is_redirection() || status.is_client_error(), "{path}: {status}");
    }
    for decision in ["approve", "reject"] {
        for door in ["/api/v1/actions", "/actions"] {
            let url = format!("{}{door}/{id}/{decision}", app.url);
            let body = json!({ "digest": "", "reason": "No" });
            let request =
                app.agent.http.post(url).bearer_auth(key).header("cookie", format!("cs_session={key}"));
            let status = request.json(&body).send().await.unwrap().status();
            assert!(status.is_redirection() || status.is_client_error(), "{door} {decision}: {status}");
        }
    }
    app.only_denials_since(&before, 1).await;
}

backends!(a_persons_token_at_the_agents_door);
async fn a_persons_token_at_the_agents_door(app: &TestApp) {
    let key = app.person(Role::Owner).await.api_token.clone();
    let owner = Agent {
        key,
        ..app.agent.clone()
    };
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let (status, body) = owner.post(list.into()).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["error"]["code"]), (StatusCode::UNAUTHORIZED, &json!("unauthenticated")));
}

async fn set_scopes(app: &TestApp, scopes: &[&str]) {
    let scopes: Vec<_> = scopes.iter().map(|&scope| scope.to_owned()).collect();
    app.inner
        .auth
        .set_scopes(&app.agent.name, &scopes, &app.inner.gate.registry.scopes())
        .await
        .unwrap();
}
