//! Rates: reads and new writes each have their own, and an answer beyond them says how long to wait.

use countersign::config::Config;
use serde_json::json;

use crate::support::agent::Answer;
use crate::support::run::Fixture;
use crate::support::shop::refund;
use crate::support::{Backend, TestApp, backends};

backends!(reads_and_new_requests_are_counted_apart);
async fn reads_and_new_requests_are_counted_apart(backend: &Backend) {
    let app = TestApp::with(*backend, narrow).await;
    app.order("#1001", 90_000).await;
    for _ in 0..3 {
        app.agent.call("get_order", json!({ "order_id": "1001" })).await.ok();
    }
    let refused = app.agent.call("get_order", json!({ "order_id": "1001" })).await;
    assert!((1..=1200).contains(&seconds_to_wait(&refused)), "{}", refused.body);

    app.agent.call("request_refund", refund("1001", 1)).await.ok();
    app.agent.call("request_refund", refund("1001", 2)).await.ok();
    let refused = app.agent.call("request_refund", refund("1001", 3)).await;
    assert!((1..=1800).contains(&seconds_to_wait(&refused)), "{}", refused.body);
    app.tear_down().await;
}

backends!(a_repetition_takes_no_write_token);
async fn a_repetition_takes_no_write_token(backend: &Backend) {
    let app = TestApp::with(*backend, narrow).await;
    app.order("#1001", 90_000).await;
    for disposition in ["new", "joined", "joined", "joined", "joined"] {
        assert_eq!(
            app.agent.call("request_refund", refund("1001", 1)).await.ok()["disposition"],
            disposition
        );
    }
    app.agent.call("request_refund", refund("1001", 2)).await.ok();
    seconds_to_wait(&app.agent.call("request_refund", refund("1001", 3)).await);
    app.tear_down().await;
}

backends!(every_agent_has_its_own_rate);
async fn every_agent_has_its_own_rate(backend: &Backend) {
    let app = TestApp::with(*backend, narrow).await;
    for _ in 0..3 {
        app.agent.call("list_actions", json!({})).await.ok();
    }
    seconds_to_wait(&app.agent.call("list_actions", json!({})).await);
    app.reader.call("list_actions", json!({})).await.ok();
    app.tear_down().await;
}

/// Three reads in a row, two new requests; more only after a long time.
fn narrow(config: &mut Config) {
    config.read_rate = "3/h:3".parse().unwrap();
    config.write_rate = "2/h:2".parse().unwrap();
}

#[track_caller]
fn seconds_to_wait(refused: &Answer) -> i64 {
    assert_eq!(refused.code(), "rate_limited");
    refused.body["error"]["retry_after_seconds"].as_i64().unwrap()
}
