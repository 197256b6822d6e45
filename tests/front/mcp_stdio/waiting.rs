//! A wait for a decision that another process makes.

use std::time::{Duration, Instant};

use countersign::store::people::Role;
use serde_json::json;

use super::pipe::{Behind, Pipe};
use crate::support::shop::refund;
use crate::support::{TestApp, backends};

backends!(a_decision_elsewhere_ends_the_wait);
async fn a_decision_elsewhere_ends_the_wait(app: &TestApp) {
    let order = app.order("#1001", 90_000).await.name;
    let action = app.ask("request_refund", refund(&order, 100)).await;
    let mut pipes = Behind::BOTH.map(|behind| Pipe::open(&behind.program(app, &app.agent)));
    let begun = Instant::now();
    for pipe in &mut pipes {
        pipe.shake_hands();
        let wait = json!({ "name": "get_action_status", "arguments": { "action_id": action, "wait_seconds": 50 },
            "_meta": { "progressToken": "wait" } });
        pipe.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": wait }).to_string());
    }
    for pipe in &mut pipes {
        let told = pipe.hear();
        assert_eq!(told["method"], "notifications/progress", "{told}");
    }

    app.person(Role::Approver).await.approve(&action).await.ok();

    for pipe in &mut pipes {
        let answer = loop {
            let heard = pipe.hear();
            if heard["id"] == 1 {
                break heard;
            }
        };
        assert_eq!(answer["result"]["structuredContent"]["status"], "executed", "{answer}");
    }
    // Otherwise they would have been answered when the fifty seconds were over.
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    for pipe in pipes {
        assert!(pipe.close().1);
    }
}
