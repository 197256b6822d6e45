//! What those who run the server ask it.

use chrono::TimeDelta;
use reqwest::StatusCode;

use crate::support::shop::refund;
use crate::support::{Backend, Browser, TestApp, backends, in_browser};

backends!(a_server_says_that_it_is_alive_and_ready);

async fn a_server_says_that_it_is_alive_and_ready(app: &TestApp) {
    for path in ["/healthz", "/readyz"] {
        let response = reqwest::get(format!("{}{path}", app.url)).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
    }
}

backends!(figures_are_for_this_machine_by_its_own_name);
async fn figures_are_for_this_machine_by_its_own_name(app: &TestApp) {
    let metrics = async |name: &str| {
        let request = app.agent.http.get(format!("{}/metrics", app.url)).header("host", name);
        request.send().await.unwrap().status()
    };
    assert_eq!(metrics("localhost").await, StatusCode::OK);
    assert_eq!(metrics("evil.example").await, StatusCode::MISDIRECTED_REQUEST, "a rebound name");
}

backends!(figures_tell_of_the_queue_and_of_calls);
async fn figures_tell_of_the_queue_and_of_calls(app: &TestApp) {
    app.order("#1001", 50_000).await;
    app.ask("request_refund", refund("#1001", 100)).await;
    app.time().shift(TimeDelta::minutes(10));
    app.ask("request_refund", refund("#1001", 200)).await;
    let metrics = reqwest::get(format!("{}/metrics", app.url)).await.unwrap().text().await.unwrap();
    for line in [
        "countersign_database_up 1",
        "countersign_queue_depth 2",
        "countersign_oldest_pending_seconds 60",
        "countersign_outbox_dead 0",
        "countersign_tool_seconds_count{outcome=\"ok\",tool=\"request_refund\"} 2",
        "countersign_http_requests_total{method=\"POST\",route=\"/mcp\",status=\"200\"} 2",
    ] {
        assert!(metrics.contains(&format!("\n{line}")), "{line}\n{metrics}");
    }
}

backends!(a_public_name_is_the_same_with_a_dot_at_its_end);
async fn a_public_name_is_the_same_with_a_dot_at_its_end(backend: &Backend) {
    let public = "http://gate.example.".parse().unwrap();
    let app = TestApp::with(*backend, |config| config.public_url = Some(public)).await;
    for name in ["gate.example", "gate.example."] {
        let request = app.agent.http.get(format!("{}/login", app.url)).header("host", name);
        assert_eq!(request.send().await.unwrap().status(), StatusCode::OK, "{name}");
    }
    app.leave().await;
}

in_browser!(a_browser_reaches_it);
async fn a_browser_reaches_it(_app: &TestApp, browser: &Browser) {
    browser.goto("/healthz").await;
    browser.see("ok").await;
}
