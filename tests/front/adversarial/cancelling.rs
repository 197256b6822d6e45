//! Calling off what can't be called off, twice, or all of it.

use countersign::shop::tables::orders::FulfillmentStatus;
use countersign::store::people::Role;
use serde_json::{Value, json};

use super::attempt::attempt;
use crate::support::run::Fixture;
use crate::support::{Backend, TestApp, backends};

const TOOL: &str = "request_order_cancellation";

fn cancellation(order_id: &str) -> Value {
    json!({ "order_id": order_id, "reason": "The customer changed their mind" })
}

backends!(all_orders_by_one_call);
async fn all_orders_by_one_call(app: &TestApp) {
    for name in ["#1001", "#1002"] {
        app.order(name, 90_000).await;
    }
    for all in ["*", "%", "all", "#100_", "1001,1002", "1001 1002", "1001-1002", "' OR name LIKE '%"] {
        attempt(app, TOOL, cancellation(all)).await.is_refused("not_found").await;
    }
    for many in [json!(["1001", "1002"]), json!({ "from": "1001" }), json!(1001), json!(true)] {
        let arguments = json!({ "order_id": many, "reason": "All of them" });
        attempt(app, TOOL, arguments).await.is_refused_for("order_id").await;
    }
}

backends!(all_orders_by_many_calls);
async fn all_orders_by_many_calls(backend: &Backend) {
    let app = TestApp::with(*backend, |config| config.write_rate = "3/h:3".parse().unwrap()).await;
    for number in 1..=6 {
        app.order(&format!("#{number}"), 90_000).await;
    }
    for number in 1..=3 {
        attempt(&app, TOOL, cancellation(&number.to_string())).await.only_waits().await;
    }
    attempt(&app, TOOL, cancellation("4")).await.is_refused("rate_limited").await;
    for number in [5, 6] {
        let refused = app.agent.call(TOOL, cancellation(&number.to_string())).await;
        assert_eq!(refused.code(), "rate_limited");
    }
    for number in 1..=6 {
        assert_eq!(app.order_now(&format!("#{number}")).await.cancelled_at, None, "nothing without a person");
    }
    app.tear_down().await;
}

backends!(an_order_twice);
async fn an_order_twice(app: &TestApp) {
    app.order("#1001", 90_000).await;
    app.product("SKU-1", 10).await;
    let id = attempt(app, TOOL, cancellation("1001")).await.only_waits().await;
    attempt(app, TOOL, cancellation("1001")).await.repeats(&id, "joined").await;
    app.person(Role::Approver).await.approve(&id).await.ok();
    attempt(app, TOOL, cancellation("1001")).await.repeats(&id, "replayed").await;

    let mut deliberate = cancellation("1001");
    deliberate["idempotency_key"] = json!("again");
    attempt(app, TOOL, deliberate).await.breaks_the_rule("already_cancelled").await;
    assert_eq!(app.stock_now("SKU-1").await, 13, "restocked once");
}

backends!(two_cancellations_of_one_order_both_approved);
async fn two_cancellations_of_one_order_both_approved(app: &TestApp) {
    app.order("#1001", 90_000).await;
    app.product("SKU-1", 10).await;
    let approver = app.person(Role::Approver).await;
    let mut without = cancellation("1001");
    without["restock"] = json!(false);
    let first = attempt(app, TOOL, cancellation("1001")).await.only_waits().await;
    let second = attempt(app, TOOL, without).await.only_waits().await;
    approver.approve(&first).await.ok();
    let failed = approver.approve(&second).await.ok();
    assert_eq!(failed["refusal"]["rule"], "already_cancelled");
    assert_eq!(app.stock_now("SKU-1").await, 13);
}

backends!(an_order_that_was_sent);
async fn an_order_that_was_sent(app: &TestApp) {
    for (name, sent) in [("#1", FulfillmentStatus::Fulfilled), ("#2", FulfillmentStatus::Partial)] {
        app.order_with(name, 90_000, |order| order.fulfillment_status = sent).await;
        attempt(app, TOOL, cancellation(name)).await.breaks_the_rule("already_fulfilled").await;
    }
}

backends!(an_order_sent_between_request_and_approval);
async fn an_order_sent_between_request_and_approval(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, TOOL, cancellation("1001")).await.only_waits().await;
    app.sql("UPDATE orders SET fulfillment_status = 'fulfilled', version = version + 1").await;
    let failed = app.person(Role::Approver).await.approve(&id).await.ok();
    assert_eq!(failed["refusal"]["rule"], "already_fulfilled");
    assert_eq!(app.order_now("#1001").await.cancelled_at, None);
}

backends!(a_restock_beyond_what_can_be_counted);
async fn a_restock_beyond_what_can_be_counted(app: &TestApp) {
    app.order("#1001", 90_000).await;
    app.product("SKU-1", i64::MAX - 2).await;
    attempt(app, TOOL, cancellation("1001")).await.breaks_the_rule("stock_overflow").await;
}

backends!(a_restock_that_overflows_only_at_approval);
async fn a_restock_that_overflows_only_at_approval(app: &TestApp) {
    app.order("#1001", 90_000).await;
    app.product("SKU-1", i64::MAX - 4).await;
    let id = attempt(app, TOOL, cancellation("1001")).await.only_waits().await;
    app.sql("UPDATE products SET stock = stock + 2, version = version + 1").await;
    let failed = app.person(Role::Approver).await.approve(&id).await.ok();
    assert_eq!(failed["refusal"]["rule"], "stock_overflow");
    assert_eq!(app.order_now("#1001").await.cancelled_at, None, "the whole of it or nothing");
    assert_eq!(app.stock_now("SKU-1").await, i64::MAX - 2);
}

backends!(restocking_said_or_left_unsaid_is_one_write);
async fn restocking_said_or_left_unsaid_is_one_write(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, TOOL, cancellation("1001")).await.only_waits().await;
    let mut said = cancellation("1001");
    said["restock"] = json!(true);
    attempt(app, TOOL, said.clone()).await.repeats(&id, "joined").await;
    for neither in [json!(null), json!("true"), json!(1)] {
        said["restock"] = neither;
        attempt(app, TOOL, said.clone()).await.is_refused_for("restock").await;
    }
    said["restock"] = json!(false);
    attempt(app, TOOL, said).await.only_waits().await;
}
