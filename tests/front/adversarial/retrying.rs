//! Having one write done twice, by saying it again in other words.

use countersign::store::people::Role;
use serde_json::{Value, json};

use super::attempt::{attempt, attempt_by, refund, refund_with};
use crate::support::races::race;
use crate::support::{Client, Era, TestApp, backends};

backends!(the_same_call_in_other_words);
async fn the_same_call_in_other_words(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, "request_refund", refund(100)).await.only_waits().await;
    for arguments in [
        refund_with("reason", json!("It really did arrive broken")),
        refund_with("order_id", json!("#1001")),
        refund_with("order_id", json!(" 1001 ")),
        json!({ "reason": "Arrived broken", "currency": "INR", "amount_minor": 100, "order_id": "1001" }),
    ] {
        attempt(app, "request_refund", arguments).await.repeats(&id, "joined").await;
    }
}

backends!(the_same_call_under_new_message_ids);
async fn the_same_call_under_new_message_ids(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, "request_refund", refund(100)).await.only_waits().await;
    for message_id in [json!(2), json!("two"), json!(-1), json!("01990000-0000-7000-8000-000000000000")] {
        let call = json!({ "jsonrpc": "2.0", "id": message_id, "method": "tools/call",
            "params": { "name": "request_refund", "arguments": refund(100), "_meta": { "progressToken": message_id } } });
        let reply: Value = serde_json::from_str(&app.agent.post(call.to_string()).await.1).unwrap();
        assert_eq!(reply["id"], message_id);
        assert_eq!(reply["result"]["structuredContent"]["action_id"], id);
    }
}

backends!(the_same_call_through_every_kind_of_client);
async fn the_same_call_through_every_kind_of_client(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, "request_refund", refund(100)).await.only_waits().await;
    for era in Era::ALL {
        let client = Client::over_http(&app.agent, era).await;
        assert_eq!(client.call("request_refund", refund(100)).await.ok()["action_id"], id, "{era:?}");
        client.close().await;
    }
}

backends!(the_same_call_many_times_at_once);
async fn the_same_call_many_times_at_once(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let before = app.rows().await;
    let answers = race((0..16).map(|_| {
        let agent = app.agent.clone();
        async move { agent.call("request_refund", refund(100)).await.ok() }
    }));
    let answers = answers.await;
    assert!(
        answers.iter().all(|answer| answer["action_id"] == answers[0]["action_id"]),
        "{answers:#?}"
    );
    assert_eq!(answers.iter().filter(|answer| answer["disposition"] == "new").count(), 1);
    assert_eq!(
        app.grown_since(&before).await,
        [("actions", 1), ("events", 16), ("notices", 1), ("slots", 1)]
    );
}

backends!(what_was_done_is_not_done_again);
async fn what_was_done_is_not_done_again(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, "request_refund", refund(100)).await.only_waits().await;
    app.person(Role::Approver).await.approve(&id).await.ok();
    for _ in 0..3 {
        let again = attempt(app, "request_refund", refund(100)).await;
        assert_eq!(again.answer.body["result"]["refunded_minor"], 100);
        assert!(again.answer.body["next"].as_str().unwrap().contains("nothing was done again"));
        again.repeats(&id, "replayed").await;
    }
    assert_eq!(app.order_now("#1001").await.refunded_minor, 100);
}

backends!(what_was_rejected_is_not_asked_again);
async fn what_was_rejected_is_not_asked_again(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, "request_refund", refund(100)).await.only_waits().await;
    app.person(Role::Approver).await.reject(&id, "Not without a photo").await.ok();
    let pleading = refund_with("reason", json!("Please, it really is broken"));
    let again = attempt(app, "request_refund", pleading).await;
    assert_eq!(again.answer.body["decision"]["reason"], "Not without a photo");
    again.repeats(&id, "replayed").await;
}

backends!(one_key_for_two_writes);
async fn one_key_for_two_writes(app: &TestApp) {
    app.order("#1001", 90_000).await;
    app.product("SKU-1", 10).await;
    let keyed = |mut arguments: Value| {
        arguments["idempotency_key"] = json!("monday");
        arguments
    };
    let id = attempt(app, "request_refund", keyed(refund(100))).await.only_waits().await;
    attempt(app, "request_refund", keyed(refund(101)))
        .await
        .is_refused("idempotency_key_reused")
        .await;
    let stock = keyed(json!({ "sku": "SKU-1", "delta": 1, "reason": "Counted again" }));
    attempt(app, "request_stock_adjustment", stock.clone())
        .await
        .is_refused("idempotency_key_reused")
        .await;
    app.person(Role::Approver).await.approve(&id).await.ok();
    attempt(app, "request_stock_adjustment", stock)
        .await
        .is_refused("idempotency_key_reused")
        .await;
    attempt(app, "request_refund", keyed(refund(100))).await.repeats(&id, "replayed").await;
}

backends!(another_agents_key);
async fn another_agents_key(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let keyed = refund_with("idempotency_key", json!("monday"));
    let stranger = app.add_agent("stranger", &["orders:write"]).await;
    let theirs = attempt_by(app, &stranger, "request_refund", keyed.clone()).await.only_waits().await;
    let own = attempt(app, "request_refund", keyed).await.only_waits().await;
    assert_ne!(own, theirs);
}

backends!(a_key_that_looks_like_one_of_ours);
async fn a_key_that_looks_like_one_of_ours(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let id = attempt(app, "request_refund", refund(100)).await.only_waits().await;
    let derived = app.inner.db.read(move |conn| countersign::store::actions::find(conn, &id)).await;
    let derived = derived.unwrap().unwrap().slot_key;
    assert!(derived.starts_with("d:"), "{derived}");
    for forged in [derived.clone(), format!("e:{derived}")] {
        let mut other = refund(200);
        other["idempotency_key"] = json!(forged);
        attempt(app, "request_refund", other).await.only_waits().await;
    }
}

backends!(a_key_that_can_not_be_printed);
async fn a_key_that_can_not_be_printed(app: &TestApp) {
    app.order("#1001", 90_000).await;
    for key in ["", "m\u{f6}nday", "mon\nday", "mon\tday", "monday\u{200b}", "\u{7f}", &"k".repeat(201)] {
        let keyed = refund_with("idempotency_key", json!(key));
        attempt(app, "request_refund", keyed).await.is_refused_for("idempotency_key").await;
    }
    for key in [json!(null), json!(1), json!(["monday"])] {
        let keyed = refund_with("idempotency_key", key);
        attempt(app, "request_refund", keyed).await.is_refused_for("idempotency_key").await;
    }
}
