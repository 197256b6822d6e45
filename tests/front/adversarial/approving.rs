//! Approving what was not shown, what was stopped, or what is none of one's business.

use countersign::audit::Source;
use countersign::auth::Visitor;
use countersign::store::people::Role;
use countersign::workflow::PauseTarget;
use reqwest::StatusCode;
use serde_json::json;

use super::attempt::{attempt, is_refused_decision, refund};
use crate::support::{TestApp, backends};

backends!(an_approval_by_opening_a_link);
async fn an_approval_by_opening_a_link(app: &TestApp) {
    let id = asked(app).await;
    let approver = app.person(Role::Approver).await;
    let session = app.session(approver).await;
    let seen = approver.action(&id).await;
    let before = app.rows().await;
    for query in [String::new(), format!("?digest={}", seen["digest"].as_str().unwrap())] {
        for path in [format!("/actions/{id}/approve{query}"), format!("/actions/{id}/reject{query}")] {
            let page = session.get(&path).await;
            assert!(page.status.is_client_error(), "{path}: {}", page.status);
            let status = approver.get(&path).await.status;
            assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "/api/v1{path}");
        }
        let shown = if query.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
        assert_eq!(session.get(&format!("/actions/{id}{query}")).await.status, shown);
    }
    assert_eq!(app.grown_since(&before).await, []);
}

backends!(a_rejection_of_nothing_without_a_reason);
async fn a_rejection_of_nothing_without_a_reason(app: &TestApp) {
    let session = app.session(app.person(Role::Approver).await).await;
    let before = app.rows().await;
    let path = "/actions/01995a3e-8f0c-7c21-b6d4-2f9e0a1b3c4d/reject";
    let page = session.submit(path, &[("digest", "d"), ("note", " ")]).await;
    assert!(page.status.is_client_error(), "{}", page.status);
    let grown = app.grown_since(&before).await;
    assert!(matches!(grown[..], [("events", 1)]), "it leaves its event: {grown:?}");
}

backends!(an_approval_by_a_form_from_elsewhere);
async fn an_approval_by_a_form_from_elsewhere(app: &TestApp) {
    let id = asked(app).await;
    let approver = app.person(Role::Approver).await;
    let mut session = app.session(approver).await;
    let other = app.session(app.person(Role::Owner).await).await;
    let seen = approver.action(&id).await;
    let (digest, versions) = (seen["digest"].as_str().unwrap(), seen["subject_versions"].to_string());
    let form = [("digest", digest), ("subject_versions", versions.as_str())];
    let before = app.rows().await;
    for forged in [String::new(), "0".repeat(64), other.form_token] {
        session.form_token = forged;
        let page = session.submit(&format!("/actions/{id}/approve"), &form).await;
        assert_eq!(page.status, StatusCode::FORBIDDEN);
    }
    app.only_denials_since(&before, 1).await;
}

backends!(an_approval_of_something_else_than_was_shown);
async fn an_approval_of_something_else_than_was_shown(app: &TestApp) {
    let id = asked(app).await;
    let other = attempt(app, "request_refund", refund(90_000)).await.only_waits().await;
    let approver = app.person(Role::Approver).await;
    let (seen, another) = (approver.action(&id).await, approver.action(&other).await);
    for (member, value, code) in [
        ("digest", another["digest"].clone(), "digest_mismatch"),
        ("digest", json!(seen["digest"].as_str().unwrap().to_uppercase()), "digest_mismatch"),
        ("digest", json!("0".repeat(64)), "digest_mismatch"),
        ("subject_versions", json!({ "order:#1001": 2 }), "subject_changed"),
        ("subject_versions", json!({}), "subject_changed"),
    ] {
        let mut tampered = seen.clone();
        tampered[member] = value;
        let before = app.rows().await;
        let reply = approver.approve_as_seen(&tampered).await;
        is_refused_decision(app, &before, &reply, code).await;
    }
    let mut unseen = seen.clone();
    unseen["digest"] = json!("");
    assert_eq!(approver.approve_as_seen(&unseen).await.code(), "invalid_params");
}

backends!(an_approval_of_figures_that_have_changed);
async fn an_approval_of_figures_that_have_changed(app: &TestApp) {
    let id = asked(app).await;
    let approver = app.person(Role::Approver).await;
    let seen = approver.action(&id).await;
    app.sql("UPDATE orders SET total_minor = 50, version = version + 1").await;
    let before = app.rows().await;
    let reply = approver.approve_as_seen(&seen).await;
    is_refused_decision(app, &before, &reply, "subject_changed").await;
    assert_eq!(approver.approve(&id).await.ok()["refusal"]["rule"], "exceeds_refundable");
}

backends!(a_decision_by_those_who_only_look);
async fn a_decision_by_those_who_only_look(app: &TestApp) {
    let id = asked(app).await;
    let mut visitors = Vec::new();
    for role in [Role::Viewer, Role::Auditor] {
        let person = app.person(role).await;
        visitors.push((person, app.session(person).await));
    }
    let before = app.rows().await;
    for (person, session) in visitors {
        assert_eq!(person.approve(&id).await.code(), "forbidden");
        assert_eq!(person.reject(&id, "No").await.code(), "forbidden");
        let page = session.submit(&format!("/actions/{id}/approve"), &[("digest", "")]).await;
        assert_eq!(page.status, StatusCode::FORBIDDEN);
    }
    // Approving and rejecting, by each of the two; the same in the browser is counted.
    app.only_denials_since(&before, 4).await;
}

backends!(a_second_approval);
async fn a_second_approval(app: &TestApp) {
    let id = asked(app).await;
    let (approver, owner) = (app.person(Role::Approver).await, app.person(Role::Owner).await);
    let seen = owner.action(&id).await;
    approver.approve(&id).await.ok();
    for late in [owner.approve_as_seen(&seen).await, owner.reject_as_seen(&seen, "No").await] {
        assert_eq!((late.code(), late.status), ("already_decided", StatusCode::CONFLICT));
        assert!(late.body.to_string().contains(&approver.email), "it says who was first: {}", late.body);
    }
    assert_eq!(app.order_now("#1001").await.refunded_minor, 100);
}

backends!(an_approval_that_comes_too_late);
async fn an_approval_that_comes_too_late(app: &TestApp) {
    let id = asked(app).await;
    let approver = app.person(Role::Approver).await;
    let seen = approver.action(&id).await;
    app.inner.clock.shift(chrono::TimeDelta::minutes(30));
    let late = approver.approve_as_seen(&seen).await;
    assert_eq!((late.code(), late.status), ("already_decided", StatusCode::CONFLICT));
    assert!(late.body.to_string().contains("expired"), "{}", late.body);
    assert_eq!(app.order_now("#1001").await.refunded_minor, 0);
}

backends!(an_agent_that_approves_itself);
async fn an_agent_that_approves_itself(app: &TestApp) {
    let id = asked(app).await;
    for tool in ["approve", "approve_action", "reject_action", "decide", "execute_action"] {
        let call = json!({ "name": tool, "arguments": { "action_id": id } });
        assert_eq!(app.agent.rpc("tools/call", call).await["error"]["code"], -32602, "{tool}");
    }
    for method in ["actions/approve", "tools/approve", "sampling/createMessage", "completion/complete"] {
        assert!(app.agent.rpc(method, json!({ "action_id": id })).await["error"].is_object(), "{method}");
    }
    assert_eq!(app.person(Role::Approver).await.action(&id).await["status"], "pending");
}

backends!(what_an_owner_has_paused);
async fn what_an_owner_has_paused(app: &TestApp) {
    let id = asked(app).await;
    let approver = app.person(Role::Approver).await;
    let name = app.agent.name.clone();
    let find = move |conn: &mut _| countersign::store::agents::by_name(conn, &name);
    let agent = app.inner.db.read(find).await.unwrap().unwrap();
    for target in [PauseTarget::Everything, PauseTarget::Kind("refund".into()), PauseTarget::Agent(agent.id)]
    {
        pause(app, &target, true).await;
        attempt(app, "request_refund", refund(200)).await.is_refused("paused").await;
        attempt(app, "request_refund", refund(100)).await.repeats(&id, "joined").await;
        let seen = approver.action(&id).await;
        let before = app.rows().await;
        let reply = approver.approve_as_seen(&seen).await;
        is_refused_decision(app, &before, &reply, "paused").await;
        pause(app, &target, false).await;
    }
    pause(app, &PauseTarget::Everything, true).await;
    let withdrawn = app.agent.call("withdraw_action", json!({ "action_id": id })).await.ok();
    assert_eq!(withdrawn["status"], "withdrawn", "taking back still works");
    assert_eq!(app.order_now("#1001").await.refunded_minor, 0);
}

backends!(what_breaks_says_nothing_of_its_inside);
async fn what_breaks_says_nothing_of_its_inside(app: &TestApp) {
    let id = asked(app).await;
    let approver = app.person(Role::Approver).await;
    let seen = approver.action(&id).await;
    app.sql("ALTER TABLE refunds RENAME TO refunds_elsewhere").await;
    let broken = app.agent.call("get_order", json!({ "order_id": "1001" })).await;
    assert_eq!(broken.code(), "internal");
    let reply = approver.approve_as_seen(&seen).await;
    assert_eq!((reply.code(), reply.status), ("internal", StatusCode::INTERNAL_SERVER_ERROR));
    for body in [broken.body.to_string(), reply.body.to_string()] {
        for leak in ["refunds", "SELECT", "INSERT", "table", "column", "sql", ".rs"] {
            assert!(!body.to_lowercase().contains(&leak.to_lowercase()), "{leak} in {body}");
        }
    }
    app.sql("ALTER TABLE refunds_elsewhere RENAME TO refunds").await;
    assert_eq!(approver.approve_as_seen(&seen).await.ok()["status"], "executed", "nothing was half done");
}

async fn asked(app: &TestApp) -> String {
    app.order("#1001", 90_000).await;
    attempt(app, "request_refund", refund(100)).await.only_waits().await
}

/// The owner's switch.
async fn pause(app: &TestApp, target: &PauseTarget, on: bool) {
    let owner = app.person(Role::Owner).await;
    let visitor: Visitor = app
        .inner
        .auth
        .api_token(&owner.api_token, &countersign::audit::Source::CLI)
        .await
        .unwrap();
    let decider = visitor.decider(Source::INTERNAL);
    assert!(app.inner.gate.set_pause(&decider, target.clone(), on).await.unwrap());
}

backends!(a_pause_of_nothing_is_refused_and_recorded);
async fn a_pause_of_nothing_is_refused_and_recorded(app: &TestApp) {
    let owner = app.session(app.person(Role::Owner).await).await;
    for target in ["", "everything", "kind:bribe", "agent:nobody"] {
        let page = owner.submit("/pause", &[("target", target)]).await;
        assert_eq!(page.status, 404, "{target}");
        let event = app.last_event().await;
        assert_eq!((&event["event"], &event["outcome"]), (&"pause".into(), &"not_found".into()), "{target}");
    }
    assert_eq!(app.rival().count("audit_events", "event = 'pause'"), 4);
}
