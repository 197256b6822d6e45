//! `POST /api/v1/actions/{id}/approve` and `…/reject`.

use chrono::TimeDelta;
use countersign::store::people::Role;
use countersign::workflow::PauseTarget;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{id, refund};
use crate::support::person::Reply;
use crate::support::{TestApp, backends};

backends!(an_approval_executes_and_answers_with_the_action);
async fn an_approval_executes_and_answers_with_the_action(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let id = refund(app, "#1001", 12_000).await;
    let approver = app.person(Role::Approver).await;

    let seen = approver.action(&id).await;
    assert_eq!(seen["status"], "pending");
    assert_eq!(seen["agent"], "assistant");
    assert_eq!(seen["reason"], "Arrived broken");
    assert_eq!(seen["params"], json!({"order_id": "#1001", "amount_minor": 12_000, "currency": "INR"}));
    assert_eq!(seen["subject_versions"], json!({"order:#1001": 1}));
    assert_eq!(seen["related"], json!([]));
    let refunded = json!({"what": "Refunded", "now": "INR 0.00", "after": "INR 120.00"});
    assert_eq!(seen["preview"][0], refunded);

    let decision = json!({
        "digest": seen["digest"], "subject_versions": seen["subject_versions"], "note": "Seen the photos", "acknowledge": [id]
    });
    let done = approver.post(&format!("/actions/{id}/approve"), decision).await.ok();
    assert_eq!(done["status"], "executed");
    assert_eq!(done["decision"]["by"], json!(approver.email));
    assert_eq!(done["decision"]["note"], "Seen the photos");
    assert_eq!(done["result"]["refunded_minor"], 12_000);
    assert_eq!(done["preview"][0], refunded, "what changed stays readable");
    assert_eq!(approver.action(&id).await, done);
    assert_eq!(app.order_now("#1001").await.refunded_minor, 12_000);
}

backends!(a_rejection_tells_the_agent_why);
async fn a_rejection_tells_the_agent_why(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let id = refund(app, "#1001", 12_000).await;
    let rejected = app.person(Role::Approver).await.reject(&id, " Not covered ").await.ok();
    assert_eq!(rejected["status"], "rejected");
    let told = app.agent.call("get_action_status", json!({ "action_id": id })).await.ok();
    assert_eq!(told["decision"]["reason"], "Not covered");
    assert_eq!(app.order_now("#1001").await.refunded_minor, 0);
}

backends!(a_rule_that_no_longer_holds_is_an_answer);
async fn a_rule_that_no_longer_holds_is_an_answer(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let (first, second) = (refund(app, "#1001", 30_000).await, refund(app, "#1001", 20_001).await);
    let approver = app.person(Role::Approver).await;
    let related = &approver.action(&second).await["related"];
    assert_eq!((&related[0]["action_id"], &related[0]["same_write"]), (&json!(first), &json!(false)));
    approver.approve(&first).await.ok();

    let failed = approver.approve(&second).await.ok();
    assert_eq!(
        (&failed["status"], &failed["refusal"]["rule"]),
        (&json!("failed"), &json!("exceeds_refundable"))
    );
    assert!(failed.get("result").is_none());
    assert_eq!(app.order_now("#1001").await.refunded_minor, 30_000);
}

backends!(a_late_decision_learns_who_was_first);
async fn a_late_decision_learns_who_was_first(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let (approver, owner) = (app.person(Role::Approver).await, app.person(Role::Owner).await);

    let approved = refund(app, "#1001", 1).await;
    let seen = owner.action(&approved).await;
    approver.approve(&approved).await.ok();
    let late = owner.approve_as_seen(&seen).await;
    assert_eq!(winner(&late)["status"], "executed");
    assert_eq!(winner(&late)["by"], json!(approver.email));
    let late = owner.reject_as_seen(&seen, "Too late").await;
    assert_eq!(winner(&late)["by"], json!(approver.email));

    let withdrawn = refund(app, "#1001", 2).await;
    app.agent.call("withdraw_action", json!({ "action_id": withdrawn })).await.ok();
    let late = owner.approve(&withdrawn).await;
    assert_eq!(
        (&winner(&late)["status"], &winner(&late)["by"]),
        (&json!("withdrawn"), &json!("assistant"))
    );

    let expired = refund(app, "#1001", 3).await;
    app.inner.clock.shift(TimeDelta::hours(1));
    let late = owner.approve(&expired).await;
    assert_eq!(winner(&late)["status"], "expired");
    assert_eq!(winner(&late).get("by"), None);
    assert_eq!(app.order_now("#1001").await.refunded_minor, 1);
}

backends!(a_decision_names_what_was_seen);
async fn a_decision_names_what_was_seen(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let (first, second) = (refund(app, "#1001", 100).await, refund(app, "#1001", 200).await);
    let approver = app.person(Role::Approver).await;
    let seen = approver.action(&second).await;
    approver.approve(&first).await.ok();

    let changed = approver.approve_as_seen(&seen).await;
    assert_eq!((changed.status, changed.code()), (StatusCode::CONFLICT, "subject_changed"));
    for decision in ["approve", "reject"] {
        let mut body = json!({ "digest": "0".repeat(64) });
        if decision == "reject" {
            body["reason"] = json!("No");
        }
        let other = approver.post(&format!("/actions/{second}/{decision}"), body).await;
        assert_eq!((other.status, other.code()), (StatusCode::CONFLICT, "digest_mismatch"));
    }
    assert_eq!(approver.action(&second).await["status"], "pending");
    let unseen = json!({ "digest": seen["digest"] });
    assert_eq!(
        approver.post(&format!("/actions/{second}/approve"), unseen).await.ok()["status"],
        "executed"
    );
}

backends!(while_paused_only_no_is_said);
async fn while_paused_only_no_is_said(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let id = refund(app, "#1001", 100).await;
    app.inner
        .gate
        .set_pause_as_operator(PauseTarget::Kind("refund".into()), true)
        .await
        .unwrap();
    let approver = app.person(Role::Approver).await;
    let refused = approver.approve(&id).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::CONFLICT, "paused"));
    assert_eq!(approver.reject(&id, "Not today").await.ok()["status"], "rejected");
}

backends!(a_disabled_person_has_no_token_left);
async fn a_disabled_person_has_no_token_left(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let id = refund(app, "#1001", 100).await;
    let approver = app.add_person("leaving", Role::Approver).await;
    let seen = approver.action(&id).await;
    app.inner.auth.set_role(&approver.email, Role::Viewer).await.unwrap();
    assert_eq!(approver.approve_as_seen(&seen).await.code(), "forbidden");
    app.inner.auth.disable(&approver.email).await.unwrap();
    assert_eq!(approver.approve_as_seen(&seen).await.code(), "unauthenticated");
    assert_eq!(app.order_now("#1001").await.refunded_minor, 0);
}

backends!(decisions_are_counted_and_say_where_they_came_from);
async fn decisions_are_counted_and_say_where_they_came_from(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let (one, other) = (refund(app, "#1001", 100).await, refund(app, "#1001", 200).await);
    let owner = app.person(Role::Owner).await;
    owner.approve(&one).await.ok();
    owner.reject(&other, "No").await.ok();
    assert_eq!(owner.reject(&other, "No").await.code(), "already_decided");

    let metrics = reqwest::get(format!("{}/metrics", app.url)).await.unwrap().text().await.unwrap();
    for outcome in ["executed", "rejected", "already_decided"] {
        let line = format!("countersign_decisions_total{{outcome=\"{outcome}\"}} 1");
        assert!(metrics.contains(&line), "{line}\n{metrics}");
    }

    let events = owner.get(&format!("/audit?category=decisions&action={one}")).await.ok();
    let event = &events["events"][0];
    assert_eq!(event["who"], json!(owner.email));
    let told = json!({"event": "approval", "door": "rest", "address": "127.0.0.1", "outcome": "executed"});
    for (name, value) in told.as_object().unwrap() {
        assert_eq!(&event["body"][name], value, "{name}");
    }
}

backends!(every_kind_is_decided_the_same_way);
async fn every_kind_is_decided_the_same_way(app: &TestApp) {
    app.order("#1001", 50_000).await;
    app.product("SKU-1", 10).await;
    let approver = app.person(Role::Approver).await;
    let requests = [
        (
            "request_stock_adjustment",
            json!({"sku": "SKU-1", "delta": -3, "reason": "Broken in store"}),
        ),
        ("request_order_cancellation", json!({"order_id": "1001", "reason": "Ordered twice"})),
    ];
    for (tool, arguments) in requests {
        let asked = app.agent.call(tool, arguments).await.ok();
        let done = approver.approve(&id(&asked)).await.ok();
        assert_eq!(done["status"], "executed", "{tool}");
        assert!(!done["preview"].as_array().unwrap().is_empty(), "{tool}");
    }
    assert_eq!(app.stock_now("SKU-1").await, 10, "three taken, three put back");
}

#[track_caller]
fn winner(late: &Reply) -> &Value {
    assert_eq!((late.status, late.code()), (StatusCode::CONFLICT, "already_decided"));
    &late.body["winner"]
}

backends!(equal_requests_are_named_and_acknowledged);
async fn equal_requests_are_named_and_acknowledged(app: &TestApp) {
    let order = app.order("#1001", 50_000).await.name;
    let refund = json!({ "order_id": order, "amount_minor": 100, "currency": "INR", "reason": "Broken" });
    let twin = app.add_agent("twin", &["orders:read", "orders:write"]).await;
    let one = app.ask("request_refund", refund.clone()).await;
    let other = twin.call("request_refund", refund.clone()).await.ok();
    let approver = app.person(Role::Approver).await;
    let mut decision = json!({ "digest": approver.action(&one).await["digest"] });

    let path = format!("/actions/{one}/approve");
    let refused = approver.post(&path, decision.clone()).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (409, "related_actions"));
    assert_eq!(refused.body["related"], json!([other["action_id"]]));

    let loud = other["action_id"].as_str().unwrap().to_uppercase();
    decision["acknowledge"] = json!([loud]);
    assert_eq!(approver.post(&path, decision).await.ok()["status"], "executed");
}

backends!(params_that_were_tampered_with_are_neither_approved_nor_rejected);
async fn params_that_were_tampered_with_are_neither_approved_nor_rejected(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let refund = json!({ "order_id": "#1001", "amount_minor": 100, "currency": "INR", "reason": "Broken" });
    let action = app.ask("request_refund", refund).await;
    let approver = app.person(Role::Approver).await;
    let seen = approver.action(&action).await;
    app.rival()
        .run("UPDATE actions SET effective_params = replace(effective_params, '100', '900')");
    for reply in [approver.approve_as_seen(&seen).await, approver.reject_as_seen(&seen, "No").await] {
        assert_eq!((reply.status.as_u16(), reply.code()), (409, "digest_mismatch"));
    }
    assert_eq!(approver.action(&action).await["status"], "pending");
}
