//! More money than there is, less than none, or somebody else's.

use countersign::shop::tables::orders::FinancialStatus;
use countersign::store::people::Role;
use serde_json::json;

use super::attempt::{attempt, refund, refund_with};
use crate::support::{TestApp, backends};

backends!(a_refund_of_more_than_the_total);
async fn a_refund_of_more_than_the_total(app: &TestApp) {
    app.order("#1001", 90_000).await;
    attempt(app, "request_refund", refund(90_001))
        .await
        .breaks_the_rule("exceeds_refundable")
        .await;
    attempt(app, "request_refund", refund(9_007_199_254_740_991))
        .await
        .breaks_the_rule("exceeds_refundable")
        .await;
}

backends!(refunds_that_only_together_exceed_the_total);
async fn refunds_that_only_together_exceed_the_total(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let approver = app.person(Role::Approver).await;
    let first = attempt(app, "request_refund", refund(50_000)).await.only_waits().await;
    let second = attempt(app, "request_refund", refund(50_001)).await.only_waits().await;
    approver.approve(&first).await.ok();

    let before = app.rows().await;
    let failed = approver.approve(&second).await.ok();
    assert_eq!(
        (&failed["status"], &failed["refusal"]["rule"]),
        (&json!("failed"), &json!("exceeds_refundable"))
    );
    assert_eq!(app.grown_since(&before).await, [("decisions", 1), ("events", 1), ("notices", 1)]);
    assert_eq!(app.order_now("#1001").await.refunded_minor, 50_000);
}

backends!(a_refund_cut_into_small_ones);
async fn a_refund_cut_into_small_ones(app: &TestApp) {
    app.order("#1001", 900).await;
    let approver = app.person(Role::Approver).await;
    for amount in [400, 300] {
        let id = attempt(app, "request_refund", refund(amount)).await.only_waits().await;
        assert_eq!(approver.approve(&id).await.ok()["status"], "executed");
    }
    attempt(app, "request_refund", refund(201))
        .await
        .breaks_the_rule("exceeds_refundable")
        .await;
    let rest = attempt(app, "request_refund", refund(200)).await.only_waits().await;
    assert_eq!(approver.approve(&rest).await.ok()["result"]["financial_status"], "refunded");
    assert_eq!(app.order_now("#1001").await.refunded_minor, 900);
}

backends!(a_second_refund_of_what_was_refunded);
async fn a_second_refund_of_what_was_refunded(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, "request_refund", refund(90_000)).await.only_waits().await;
    app.person(Role::Approver).await.approve(&id).await.ok();
    assert_eq!(app.order_now("#1001").await.financial_status, FinancialStatus::Refunded);
    attempt(app, "request_refund", refund(1)).await.breaks_the_rule("not_refundable").await;
    attempt(app, "request_refund", refund_with("idempotency_key", json!("once more")))
        .await
        .breaks_the_rule("not_refundable")
        .await;
}

backends!(a_negative_refund);
async fn a_negative_refund(app: &TestApp) {
    app.order("#1001", 90_000).await;
    attempt(app, "request_refund", refund(-1)).await.is_refused_for("amount_minor").await;
    attempt(app, "request_refund", refund(i64::MIN)).await.is_refused("invalid_params").await;
}

backends!(a_refund_of_nothing);
async fn a_refund_of_nothing(app: &TestApp) {
    app.order("#1001", 90_000).await;
    attempt(app, "request_refund", refund(0)).await.is_refused_for("amount_minor").await;
}

backends!(a_refund_as_a_float_or_as_text);
async fn a_refund_as_a_float_or_as_text(app: &TestApp) {
    app.order("#1001", 90_000).await;
    for amount in [json!(0.5), json!(100.0), json!(1e2), json!("100"), json!([100]), json!(null)] {
        attempt(app, "request_refund", refund_with("amount_minor", amount))
            .await
            .is_refused("invalid_params")
            .await;
    }
}

backends!(a_refund_that_two_readers_would_read_differently);
async fn a_refund_that_two_readers_would_read_differently(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let before = app.rows().await;
    for members in [
        r#""amount_minor":1,"amount_minor":90000"#,
        r#""amount_minor":1,"amount_\u006dinor":90000"#,
    ] {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"request_refund","arguments":
            {{"order_id":"1001",{members},"currency":"INR","reason":"Broken"}}}}}}"#
        );
        let (_, body) = app.agent.post(call).await;
        assert!(body.contains("invalid_params") && body.contains("given twice"), "{body}");
    }
    assert_eq!(app.grown_since(&before).await, [("events", 2)]);
}

backends!(a_refund_in_another_currency);
async fn a_refund_in_another_currency(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let dollars = refund_with("currency", json!("USD"));
    attempt(app, "request_refund", dollars).await.breaks_the_rule("currency_mismatch").await;
    for none in ["XXX", "inr", "₹₹₹", "INR "] {
        attempt(app, "request_refund", refund_with("currency", json!(none)))
            .await
            .is_refused_for("currency")
            .await;
    }
}

backends!(a_refund_of_an_order_that_was_never_paid);
async fn a_refund_of_an_order_that_was_never_paid(app: &TestApp) {
    for (name, status) in [("#1", FinancialStatus::Pending), ("#2", FinancialStatus::Voided)] {
        app.order_with(name, 90_000, |order| order.financial_status = status).await;
        let arguments = refund_with("order_id", json!(name));
        attempt(app, "request_refund", arguments).await.breaks_the_rule("not_refundable").await;
    }
}

backends!(a_refund_of_an_order_that_nobody_has);
async fn a_refund_of_an_order_that_nobody_has(app: &TestApp) {
    app.order("#1001", 90_000).await;
    for name in ["1002", "#", "##1001", "１００１", "1001\u{200b}", "%", "1001 OR 1=1", "#1OO1"] {
        attempt(app, "request_refund", refund_with("order_id", json!(name)))
            .await
            .is_refused("not_found")
            .await;
    }
}

backends!(a_cancelled_order_is_refunded_once);
async fn a_cancelled_order_is_refunded_once(app: &TestApp) {
    app.order_with("#1001", 90_000, |order| order.cancelled_at = Some(order.created_at)).await;
    let id = attempt(app, "request_refund", refund(90_000)).await.only_waits().await;
    app.person(Role::Approver).await.approve(&id).await.ok();
    attempt(app, "request_refund", refund(90_000)).await.repeats(&id, "replayed").await;
    assert_eq!(app.order_now("#1001").await.refunded_minor, 90_000);
}
