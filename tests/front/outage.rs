//! The database goes away under a running server, and comes back.

use std::time::{Duration, Instant};

use countersign::store::people::Role;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::run::{Fixture, run};
use crate::support::{Backend, TestApp};

#[test]
fn nothing_is_done_while_the_database_is_away_and_all_goes_on_when_it_is_back() {
    run(Backend::Postgres, async |backend: &Backend| {
        let app = TestApp::set_up(*backend).await;
        app.order("#1001", 90_000).await;
        let approver = app.person(Role::Approver).await;
        let asked = app.agent.call("request_refund", refund(100)).await.ok();
        let seen = approver.action(asked["action_id"].as_str().unwrap()).await;
        let before = app.rows().await;

        app.database.let_in(false);
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let (read, write, list, approval, ready) = tokio::join!(
            app.agent.call("get_order", json!({ "order_id": "1001" })),
            app.agent.call("request_refund", refund(200)),
            app.agent.post(list.to_string()),
            approver.approve_as_seen(&seen),
            status(&app, "/readyz"),
        );
        for answer in [read, write] {
            assert_eq!(answer.code(), "unavailable");
            assert_eq!(answer.body["error"]["retry_after_seconds"], 1);
            keeps_quiet(&answer.body.to_string());
        }
        assert!(list.1.contains("unavailable") && list.0 == StatusCode::OK, "{}", list.1);
        keeps_quiet(&list.1);
        assert_eq!((approval.status, approval.code()), (StatusCode::SERVICE_UNAVAILABLE, "unavailable"));
        keeps_quiet(&approval.body.to_string());
        assert_eq!(ready, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(status(&app, "/healthz").await, StatusCode::OK, "the process is alive");

        app.database.let_in(true);
        let begun = Instant::now();
        while status(&app, "/readyz").await != StatusCode::OK {
            assert!(begun.elapsed() < Duration::from_secs(10), "it does not recover");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(app.grown_since(&before).await, [], "nothing was done");
        let again = app.agent.call("request_refund", refund(200)).await.ok();
        assert_eq!(again["disposition"], "new");
        assert_eq!(approver.approve_as_seen(&seen).await.ok()["status"], "executed");
        app.tear_down().await;
    });
}

async fn status(app: &TestApp, path: &str) -> StatusCode {
    reqwest::get(format!("{}{path}", app.url)).await.unwrap().status()
}

fn keeps_quiet(text: &str) {
    for word in ["FATAL", "connection", "postgres", "socket", "server closed"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

fn refund(amount: i64) -> Value {
    json!({ "order_id": "1001", "amount_minor": amount, "currency": "INR", "reason": "Arrived broken" })
}
