//! The whole way: an agent asks, a person looks and approves, the agent is told.

use countersign::store::people::Role;
use serde_json::json;

use crate::support::{Browser, TestApp, in_browser};

in_browser!(a_refund_is_paid_once_approved);
async fn a_refund_is_paid_once_approved(app: &TestApp, browser: &Browser) {
    app.order("#1001", 50_000).await;
    let order = app.agent.call("get_order", json!({ "order_id": "1001" })).await.ok();
    let arguments = json!({
        "order_id": order["order_id"], "amount_minor": 12_000, "currency": "INR", "reason": "Arrived broken"
    });
    let asked = app.agent.call("request_refund", arguments).await.ok();
    let id = asked["action_id"].as_str().unwrap();

    browser.sign_in(app.person(Role::Approver).await).await;
    browser.goto(&format!("/actions/{id}")).await;
    browser.see("Arrived broken").await;
    browser.click("Approve INR 120.00").await;
    browser.see("Approved by approver@example.com").await;

    let status = app.agent.call("get_action_status", json!({ "action_id": id })).await.ok();
    assert_eq!(status["status"], "executed");
    assert_eq!(status["decision"]["by"], "approver@example.com");
    assert_eq!(app.order_now("#1001").await.refunded_minor, 12_000);
}
