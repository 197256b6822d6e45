//! REST, as a person's program meets it.

mod decisions;
mod document;
mod errors;
mod lists;
mod log;

use serde_json::{Value, json};

use crate::support::TestApp;

/// A refund of order `name` that waits for a decision.
async fn refund(app: &TestApp, name: &str, amount_minor: i64) -> String {
    let arguments = json!({
        "order_id": name, "amount_minor": amount_minor, "currency": "INR", "reason": "Arrived broken"
    });
    id(&app.agent.call("request_refund", arguments).await.ok())
}

fn id(action: &Value) -> String {
    action["action_id"].as_str().unwrap().to_owned()
}
