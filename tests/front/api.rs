//! REST, as a person's program meets it.

use countersign::store::people::Role;
use serde_json::{Value, json};

use crate::support::{TestApp, backends};

backends!(an_approval_executes_and_answers_with_the_action);
async fn an_approval_executes_and_answers_with_the_action(app: &TestApp) {
    let id = refund(app, 12_000).await;
    let approver = app.person(Role::Approver).await;

    let seen = approver.action(&id).await;
    assert_eq!(seen["status"], "pending");
    assert_eq!(seen["agent"], "assistant");
    assert_eq!(seen["reason"], "Arrived broken");
    assert_eq!(seen["params"], json!({"order_id": "#1001", "amount_minor": 12_000, "currency": "INR"}));
    assert_eq!(seen["subject_versions"], json!({"order:#1001": 1}));
    let refunded = json!({"what": "Refunded", "now": "INR 0.00", "after": "INR 120.00"});
    assert_eq!(seen["preview"][0], refunded);

    let done = approver.approve(&id).await.ok();
    assert_eq!(done["status"], "executed");
    assert_eq!(done["decision"]["by"], json!(approver.email));
    assert_eq!(done["result"]["refunded_minor"], 12_000);
    assert_eq!(done["preview"][0], refunded, "what changed stays readable");
    assert_eq!(app.order_now("#1001").await.refunded_minor, 12_000);
}

/// A refund that waits for a decision, of the only order.
async fn refund(app: &TestApp, amount_minor: i64) -> String {
    app.order("#1001", 50_000).await;
    let arguments = json!({
        "order_id": "1001", "amount_minor": amount_minor, "currency": "INR", "reason": "Arrived broken"
    });
    let asked: Value = app.agent.call("request_refund", arguments).await.ok();
    asked["action_id"].as_str().unwrap().to_owned()
}
