//! Deciding with forms alone.

use countersign::store::{new_id, people::Role};
use reqwest::StatusCode;
use serde_json::json;

use super::{decide, decision, ticked};
use crate::support::{TestApp, backends, shop};

backends!(an_approval_is_done_and_leads_back_to_the_action);
async fn an_approval_is_done_and_leads_back_to_the_action(app: &TestApp) {
    let (path, session) = asked(app, Role::Approver).await;
    let page = session.get(&path).await;
    assert!(page.html.contains("Approve INR 1.00"));
    let approved = decide(&session, &format!("{path}/approve"), &decision(&page, "with pleasure")).await;
    assert_eq!(
        (approved.status, approved.location.as_deref()),
        (StatusCode::SEE_OTHER, Some(path.as_str()))
    );
    let page = session.get(&path).await;
    for text in [
        "Executed",
        "Approved by approver@example.com today at",
        "and done.",
        "with pleasure",
        "What changed",
    ] {
        assert!(page.html.contains(text), "no {text}");
    }
    assert!(!page.html.contains("/approve"), "there is nothing left to decide");
    assert_eq!(app.order_now("#1001").await.refunded_minor, 100);
}

backends!(a_rejection_needs_a_reason_which_the_agent_is_told);
async fn a_rejection_needs_a_reason_which_the_agent_is_told(app: &TestApp) {
    let (path, session) = asked(app, Role::Approver).await;
    let page = session.get(&path).await;
    let refused = decide(&session, &format!("{path}/reject"), &decision(&page, "  ")).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(refused.html.contains("The reason is missing"));

    let rejected = decide(&session, &format!("{path}/reject"), &decision(&refused, "Photos first")).await;
    assert_eq!(rejected.status, StatusCode::SEE_OTHER);
    let page = session.get(&path).await;
    assert!(page.html.contains("Rejected by approver@example.com"));
    assert!(page.html.contains("The agent is told:</span> <bdi>Photos first</bdi>"));
    assert_eq!(app.order_now("#1001").await.refunded_minor, 0);
}

backends!(a_note_has_the_length_that_its_page_counts);
async fn a_note_has_the_length_that_its_page_counts(app: &TestApp) {
    let (path, session) = asked(app, Role::Approver).await;
    let page = session.get(&path).await;
    let refused = decide(&session, &format!("{path}/reject"), &decision(&page, &"x".repeat(1001))).await;
    assert!(refused.html.contains("must have at most 1000 characters"));

    // As a browser sends them, although to it each break is one character.
    let reason = vec!["x".repeat(49); 20].join("\r\n");
    let rejected = decide(&session, &format!("{path}/reject"), &decision(&refused, &reason)).await;
    assert_eq!(rejected.status, StatusCode::SEE_OTHER, "{}", rejected.html);
    let id = path.rsplit('/').next().unwrap();
    let told = app.agent.call("get_action_status", json!({ "action_id": id })).await.ok();
    assert_eq!(told["decision"]["reason"], reason.replace("\r\n", "\n"));
}

backends!(a_long_note_has_room_beside_a_long_list);
async fn a_long_note_has_room_beside_a_long_list(app: &TestApp) {
    let (path, session) = asked(app, Role::Approver).await;
    let mut form = decision(&session.get(&path).await, &"\u{1F600}".repeat(1000));
    form.push(("acknowledge", vec![new_id(); 199].join(",")));
    let approved = decide(&session, &format!("{path}/approve"), &form).await;
    assert_eq!(approved.status, StatusCode::SEE_OTHER, "{}", approved.html);
}

backends!(who_comes_second_is_told_who_was_first);
async fn who_comes_second_is_told_who_was_first(app: &TestApp) {
    let (path, session) = asked(app, Role::Approver).await;
    let page = session.get(&path).await;
    let owner = app.session(app.person(Role::Owner).await).await;
    decide(&owner, &format!("{path}/reject"), &decision(&owner.get(&path).await, "No")).await;

    let late = decide(&session, &format!("{path}/approve"), &decision(&page, "")).await;
    assert_eq!(late.status, StatusCode::CONFLICT);
    assert!(late.html.contains("The action is already rejected: owner@example.com was first."));
    assert_eq!(app.order_now("#1001").await.refunded_minor, 0);
}

backends!(a_record_that_changed_is_shown_anew_and_asked_once_more);
async fn a_record_that_changed_is_shown_anew_and_asked_once_more(app: &TestApp) {
    let (path, session) = asked(app, Role::Approver).await;
    let page = session.get(&path).await;
    let other = app.ask("request_refund", shop::refund("1001", 700)).await;
    let other = format!("/actions/{other}");
    decide(&session, &format!("{other}/approve"), &decision(&session.get(&other).await, "")).await;

    let stale = decide(&session, &format!("{path}/approve"), &decision(&page, "go on")).await;
    assert_eq!(stale.status, StatusCode::CONFLICT);
    for text in ["The record changed since it was shown.", "go on", "INR 7.00", "Approve INR 1.00"] {
        assert!(stale.html.contains(text), "no {text}");
    }
    let again =
        decide(&session, &format!("{path}/approve"), &ticked(&stale, "subject_versions", "go on")).await;
    assert_eq!(again.status, StatusCode::SEE_OTHER);
    assert_eq!(app.order_now("#1001").await.refunded_minor, 800);
}

backends!(what_was_not_shown_is_not_approved);
async fn what_was_not_shown_is_not_approved(app: &TestApp) {
    let (path, session) = asked(app, Role::Approver).await;
    let shown = decision(&session.get(&path).await, "");
    for (name, value) in [
        ("digest", ""),
        ("digest", "00"),
        ("subject_versions", ""),
        ("subject_versions", "nonsense"),
    ] {
        let mut forged = shown.clone();
        forged
            .iter_mut()
            .filter(|(field, _)| *field == name)
            .for_each(|(_, field)| value.clone_into(field));
        let refused = decide(&session, &format!("{path}/approve"), &forged).await;
        assert_eq!(refused.status, StatusCode::CONFLICT, "{name} = {value:?}");
    }
    assert_eq!(app.order_now("#1001").await.refunded_minor, 0);
}

backends!(who_only_looks_is_shown_no_buttons);
async fn who_only_looks_is_shown_no_buttons(app: &TestApp) {
    let (path, _) = asked(app, Role::Approver).await;
    for role in [Role::Viewer, Role::Auditor] {
        let session = app.session(app.person(role).await).await;
        for page in ["/", &path] {
            let page = session.get(page).await;
            assert!(page.html.contains("Refund INR 1.00 on order #1001"));
            assert!(!page.html.contains("/approve") && !page.html.contains("/reject"), "{role}");
        }
    }
}

backends!(a_pause_is_seen_and_holds_approvals_back);
async fn a_pause_is_seen_and_holds_approvals_back(app: &TestApp) {
    let (path, session) = asked(app, Role::Approver).await;
    let owner = app.session(app.person(Role::Owner).await).await;
    let paused = owner.submit("/pause", &[("target", "kind:refund")]).await;
    assert_eq!((paused.status, paused.location.as_deref()), (StatusCode::SEE_OTHER, Some("/agents")));

    let page = session.get(&path).await;
    assert!(page.html.contains("is paused: nothing of it can be asked for or approved"));
    assert!(page.html.contains("This is paused. It can be rejected"));
    assert!(!page.html.contains("action=\"/resume\""), "only owners resume");
    let held = decide(&session, &format!("{path}/approve"), &decision(&page, "")).await;
    assert_eq!(held.status, StatusCode::CONFLICT);

    owner.submit("/resume", &[("target", "kind:refund")]).await;
    let page = session.get(&path).await;
    assert!(!page.html.contains("is paused"));
    assert_eq!(
        decide(&session, &format!("{path}/approve"), &decision(&page, "")).await.status,
        StatusCode::SEE_OTHER
    );
}

/// A refund of INR 1.00 that waits: its page, and somebody's session.
async fn asked(app: &TestApp, role: Role) -> (String, crate::support::session::Session) {
    app.order("#1001", 50_000).await;
    let id = app.ask("request_refund", shop::refund("1001", 100)).await;
    (format!("/actions/{id}"), app.session(app.person(role).await).await)
}
