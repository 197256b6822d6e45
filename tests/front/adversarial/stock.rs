//! Stock that was never there.

use countersign::store::people::Role;
use serde_json::{Value, json};

use super::attempt::attempt;
use crate::support::{TestApp, backends};

const TOOL: &str = "request_stock_adjustment";

fn change(delta: i64) -> Value {
    json!({ "sku": "SKU-1", "delta": delta, "reason": "Counted again" })
}

backends!(stock_below_zero);
async fn stock_below_zero(app: &TestApp) {
    app.product("SKU-1", 10).await;
    attempt(app, TOOL, change(-11)).await.breaks_the_rule("stock_below_zero").await;
    attempt(app, TOOL, change(-10)).await.only_waits().await;
}

backends!(the_last_piece_twice);
async fn the_last_piece_twice(app: &TestApp) {
    app.product("SKU-1", 1).await;
    let approver = app.person(Role::Approver).await;
    let mut other = change(-1);
    other["idempotency_key"] = json!("another piece");
    let first = attempt(app, TOOL, change(-1)).await.only_waits().await;
    let second = attempt(app, TOOL, other).await.only_waits().await;
    approver.approve(&first).await.ok();
    let failed = approver.approve(&second).await.ok();
    assert_eq!(failed["refusal"]["rule"], "stock_below_zero");
    assert_eq!(app.stock_now("SKU-1").await, 0);
}

backends!(more_than_one_request_may_change);
async fn more_than_one_request_may_change(app: &TestApp) {
    app.product("SKU-1", 5000).await;
    for delta in [1001, -1001, 9_007_199_254_740_991] {
        attempt(app, TOOL, change(delta)).await.breaks_the_rule("delta_too_large").await;
    }
    attempt(app, TOOL, change(1000)).await.only_waits().await;
}

backends!(a_change_by_nothing);
async fn a_change_by_nothing(app: &TestApp) {
    app.product("SKU-1", 10).await;
    attempt(app, TOOL, change(0)).await.breaks_the_rule("delta_zero").await;
}

backends!(a_change_beyond_what_can_be_counted);
async fn a_change_beyond_what_can_be_counted(app: &TestApp) {
    app.product("SKU-1", i64::MAX - 5).await;
    attempt(app, TOOL, change(6)).await.breaks_the_rule("stock_overflow").await;
    for delta in [json!(9_007_199_254_740_993_i64), json!(i64::MIN), json!(1.5)] {
        let arguments = json!({ "sku": "SKU-1", "delta": delta, "reason": "Counted again" });
        attempt(app, TOOL, arguments).await.is_refused("invalid_params").await;
    }
}

backends!(a_product_that_only_looks_like_one);
async fn a_product_that_only_looks_like_one(app: &TestApp) {
    app.product("SKU-1", 10).await;
    for sku in [
        "sku-1",
        "SKU\u{2010}1",
        "S\u{39a}U-1",
        "SKU-\u{661}",
        "SKU-1\u{200b}",
        "SKU-_",
        "SKU-1;--",
    ] {
        let arguments = json!({ "sku": sku, "delta": 1, "reason": "Counted again" });
        attempt(app, TOOL, arguments).await.is_refused("not_found").await;
    }
}
