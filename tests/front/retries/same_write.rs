//! What is the same write: the records it names and what is to be done with them, in whichever words.

use countersign::store::people::Role;
use serde_json::{Value, json};

use crate::support::shop::{adjustment, cancellation, id};
use crate::support::{TestApp, backends};

/// All of these are one action.
async fn are_one(app: &TestApp, tool: &str, calls: &[Value]) {
    let first = app.ask(tool, calls[0].clone()).await;
    for call in &calls[1..] {
        let again = app.agent.call(tool, call.clone()).await.ok();
        assert_eq!((id(&again), &again["disposition"]), (first.as_str(), &json!("joined")), "{call}");
    }
    assert_eq!(app.rival().count("actions", "1 = 1"), 1);
    assert_eq!(app.rival().count("slots", "1 = 1"), 1);
}

backends!(a_default_is_the_same_spelled_out_or_not);
async fn a_default_is_the_same_spelled_out_or_not(app: &TestApp) {
    app.product("SKU-1", 5).await;
    app.order("#1001", 50_000).await;
    let mut spelled_out = cancellation("1001");
    spelled_out["restock"] = json!(true);
    are_one(app, "request_order_cancellation", &[cancellation("#1001"), spelled_out.clone()]).await;

    spelled_out["restock"] = json!(false);
    let other = app.agent.call("request_order_cancellation", spelled_out).await.ok();
    assert_eq!(other["disposition"], "new", "not the default");
}

backends!(white_space_around_a_name_is_no_other_write);
async fn white_space_around_a_name_is_no_other_write(app: &TestApp) {
    app.product("SKU-1", 5).await;
    let calls = ["SKU-1", " SKU-1", "SKU-1 ", "\tSKU-1\n"].map(|sku| adjustment(sku, 1));
    are_one(app, "request_stock_adjustment", &calls).await;
}

backends!(a_composed_letter_and_its_parts_are_not_two_writes);
async fn a_composed_letter_and_its_parts_are_not_two_writes(app: &TestApp) {
    let (composed, parts) = ("CAF\u{c9}-1", "CAFE\u{301}-1");
    app.product(composed, 5).await;
    let action = app.ask("request_stock_adjustment", adjustment(composed, 1)).await;
    let other = app.agent.call("request_stock_adjustment", adjustment(parts, 1)).await;
    // Another spelling is another name, and there is no such product.
    assert_eq!(other.code(), "not_found");
    app.person(Role::Approver).await.approve(&action).await.ok();
    assert_eq!(app.stock_now(composed).await, 6);
    assert_eq!(app.rival().count("stock_movements", "1 = 1"), 1);
}

backends!(a_read_is_never_a_replay);
async fn a_read_is_never_a_replay(app: &TestApp) {
    app.product("SKU-1", 5).await;
    let read = async || app.agent.call("check_stock", json!({ "sku": "SKU-1" })).await.ok()["stock"].clone();
    assert_eq!(read().await, 5);
    let action = app.ask("request_stock_adjustment", adjustment("SKU-1", -2)).await;
    app.person(Role::Approver).await.approve(&action).await.ok();
    assert_eq!(read().await, 3);
}
