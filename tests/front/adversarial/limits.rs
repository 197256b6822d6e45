//! More calls, longer waits, larger pages, other pages.

use countersign::store::people::Role;
use serde_json::json;

use super::attempt::{attempt, refund};
use crate::failures::told;
use crate::support::run::Fixture;
use crate::support::shop::id;
use crate::support::{Backend, Client, Era, TestApp, backends};

backends!(more_connections_are_not_more_calls);
async fn more_connections_are_not_more_calls(backend: &Backend) {
    let app = TestApp::with(*backend, |config| config.write_rate = "2/h:2".parse().unwrap()).await;
    app.order("#1001", 90_000).await;
    let clients = [
        Client::over_http(&app.agent, Era::Discovery).await,
        Client::over_http(&app.agent, Era::Handshake("2025-06-18")).await,
        Client::over_http(&app.agent, Era::Handshake("2025-11-25")).await,
    ];
    let mut asked = Vec::new();
    for (amount, client) in (1..).zip(&clients[..2]) {
        asked.push(client.call("request_refund", refund(amount)).await.ok());
    }
    for (amount, client) in (3..).zip(&clients) {
        assert_eq!(client.call("request_refund", refund(amount)).await.code(), "rate_limited");
    }
    for client in clients {
        client.close().await;
    }
    attempt(&app, "request_refund", refund(1)).await.repeats(id(&asked[0]), "joined").await;
    app.tear_down().await;
}

backends!(a_new_key_is_no_new_allowance);
async fn a_new_key_is_no_new_allowance(backend: &Backend) {
    let app = TestApp::with(*backend, |config| config.write_rate = "1/h:1".parse().unwrap()).await;
    app.order("#1001", 90_000).await;
    attempt(&app, "request_refund", refund(1)).await.only_waits().await;
    let key = app.inner.auth.rotate(&app.agent.name).await.unwrap().key;
    let renewed = crate::support::Agent {
        key,
        ..app.agent.clone()
    };
    assert_eq!(renewed.call("request_refund", refund(2)).await.code(), "rate_limited");
    drop(renewed);
    app.tear_down().await;
}

backends!(refused_requests_use_up_the_allowance);
async fn refused_requests_use_up_the_allowance(backend: &Backend) {
    let app = TestApp::with(*backend, |config| config.write_rate = "2/h:2".parse().unwrap()).await;
    app.order("#1001", 90_000).await;
    for amount in [90_001, 90_002] {
        attempt(&app, "request_refund", refund(amount))
            .await
            .breaks_the_rule("exceeds_refundable")
            .await;
    }
    attempt(&app, "request_refund", refund(90_003)).await.is_refused("rate_limited").await;
    app.tear_down().await;
}

backends!(a_flood_of_denials_does_not_flood_the_log);
async fn a_flood_of_denials_does_not_flood_the_log(app: &TestApp) {
    let before = app.rows().await;
    for _ in 0..40 {
        assert_eq!(app.reader.call("request_refund", refund(1)).await.code(), "scope_missing");
    }
    let grown = app.grown_since(&before).await;
    assert!(matches!(grown[..], [("events", 1..=2)]), "the first of each minute: {grown:?}");
    assert_eq!(told(app, "tool_call", "denials").await, 40, "none is lost");
    let counted = app.last_event().await;
    assert_eq!(
        (&counted["event"], &counted["outcome"]),
        (&json!("denials"), &json!("scope_missing")),
        "{counted}"
    );
}

backends!(what_is_turned_away_stands_in_nobodys_way);
async fn what_is_turned_away_stands_in_nobodys_way(app: &TestApp) {
    let process = app.unserved();
    assert_eq!(app.reader.code_in(&process, "request_refund").await, "scope_missing");
    let mut rival = app.rival();
    rival.begin("UPDATE floods SET denials = denials");
    for _ in 0..40 {
        assert_eq!(app.reader.code_in(&process, "request_refund").await, "scope_missing");
    }
    assert_eq!(process.db.writes_under_way(), 0, "none of them waits for the database");
    rival.run("ROLLBACK");
    process.auth.write_down_failures().await.unwrap();
    assert_eq!(told(app, "tool_call", "denials").await, 41);
}

backends!(a_wait_longer_than_any_client_has);
async fn a_wait_longer_than_any_client_has(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, "request_refund", refund(100)).await.only_waits().await;
    for wait in [51, 3600, 9_007_199_254_740_991_i64, -1] {
        let arguments = json!({ "action_id": id, "wait_seconds": wait });
        attempt(app, "get_action_status", arguments).await.is_refused_for("wait_seconds").await;
    }
}

backends!(a_page_larger_than_a_page);
async fn a_page_larger_than_a_page(app: &TestApp) {
    for tool in ["search_orders", "list_products", "list_actions"] {
        for limit in [0, -1, 51, 1_000_000] {
            attempt(app, tool, json!({ "limit": limit })).await.is_refused_for("limit").await;
        }
    }
}

backends!(a_cursor_that_no_page_gave);
async fn a_cursor_that_no_page_gave(app: &TestApp) {
    app.order("#1001", 90_000).await;
    attempt(app, "request_refund", refund(100)).await.only_waits().await;
    for tool in ["search_orders", "list_products", "list_actions"] {
        for cursor in ["x", "' OR '1'='1", "IzEwMDI", "AA", "~", "\u{202e}"] {
            if tool == "list_products" && cursor == "IzEwMDI" {
                continue;
            }
            attempt(app, tool, json!({ "cursor": cursor })).await.is_refused_for("cursor").await;
        }
    }
}

backends!(a_flood_of_denied_decisions_hides_none_of_the_actions);
async fn a_flood_of_denied_decisions_hides_none_of_the_actions(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let viewer = app.person(Role::Viewer).await;
    let mut asked = Vec::new();
    for amount in 1..=3 {
        asked.push(attempt(app, "request_refund", refund(amount)).await.only_waits().await);
    }
    let decide = async |id: &str| {
        let reply = viewer.post(&format!("/actions/{id}/approve"), json!({ "digest": "x" })).await;
        assert_eq!(reply.code(), "forbidden");
    };
    let before = app.rows().await;
    for id in &asked {
        for _ in 0..4 {
            decide(id).await;
        }
    }
    assert_eq!(app.grown_since(&before).await, [("events", 3)], "each action's first");
    for id in &asked {
        assert_eq!(
            app.rival().count("audit_events", &format!("event = 'approval' AND action_id = '{id}'")),
            1
        );
    }
    // Ids of nothing are as many as somebody likes to make up.
    for _ in 0..40 {
        decide(&countersign::store::new_id()).await;
    }
    let grown = app.grown_since(&before).await;
    assert!(matches!(grown[..], [("events", 4..=5)]), "{grown:?}");

    app.inner.auth.write_down_failures().await.unwrap();
    app.inner.clock.shift(chrono::TimeDelta::minutes(2));
    app.inner.gate.sweep().await.unwrap();
    for id in &asked {
        let closed = format!(
            "event = 'denials' AND action_id = '{id}' AND body LIKE '%\"door\":\"rest\"%'
             AND body LIKE '%\"denials_after_the_first\":3%' AND body NOT LIKE '%\"address\"%'"
        );
        assert_eq!(app.rival().count("audit_events", &closed), 1, "{id}");
    }
}
