//! What htmx asks for: the same pages, at once instead of after a redirect.

use countersign::store::people::Role;
use reqwest::header::{CONTENT_TYPE, COOKIE};
use reqwest::{Response, StatusCode};

use super::decision;
use crate::support::http::client;
use crate::support::run::Fixture;
use crate::support::{Backend, Browser, Session, TestApp, backends, in_browser, shop};

backends!(a_decision_is_answered_with_the_page);
async fn a_decision_is_answered_with_the_page(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let path = format!("/actions/{}", app.ask("request_refund", shop::refund("1001", 100)).await);
    let session = app.session(app.person(Role::Approver).await).await;
    let fields = decision(&session.get(&path).await, "");
    let approved = approve(&session, &path, &fields).await;
    assert_eq!(approved.status(), StatusCode::OK);
    let html = approved.text().await.unwrap();
    for part in [
        "<main class=\"detail\" id=\"detail\">",
        "<div id=\"queue\"",
        "id=\"waiting\"",
        "and done.",
    ] {
        assert!(html.contains(part), "no {part}");
    }
    assert_eq!(approve(&session, &path, &fields).await.status(), StatusCode::CONFLICT);
}

backends!(a_page_of_the_queue_that_never_was_hides_no_decision);
async fn a_page_of_the_queue_that_never_was_hides_no_decision(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let path = format!("/actions/{}", app.ask("request_refund", shop::refund("1001", 100)).await);
    let session = app.session(app.person(Role::Approver).await).await;
    let mut fields = decision(&session.get(&path).await, "");
    fields.retain(|(name, _)| *name != "after");
    fields.push(("after", "01995a3e-8f0c-7c21-b6d4-2f9e0a1b3c4d".to_owned()));
    let approved = approve(&session, &path, &fields).await;
    assert_eq!(approved.status(), StatusCode::OK);
    assert!(approved.text().await.unwrap().contains("and done."));
    assert_eq!(app.rival().count("audit_events", "category = 'decisions'"), 1);
}

backends!(what_was_decided_is_no_failure_though_it_can_not_be_shown);
async fn what_was_decided_is_no_failure_though_it_can_not_be_shown(backend: &Backend) {
    let app = TestApp::on_several_processes(*backend, "off").await;
    let elsewhere = app.elsewhere.as_ref().unwrap();
    let person = app.person(Role::Approver).await;
    let mut session = app.session(person).await;
    session.site.clone_from(&elsewhere.url);
    app.order("#1001", 50_000).await;
    // What only a page needs is away between the decision and its answer.
    let hidden = async || {
        elsewhere.failpoints.until_reached("committed").await;
        app.rival().run("ALTER TABLE action_subjects RENAME TO hidden");
        elsewhere.failpoints.release("committed");
    };

    let by_page = app.ask("request_refund", shop::refund("1001", 100)).await;
    let by_program = app.ask("request_refund", shop::refund("1001", 200)).await;
    let path = format!("/actions/{by_page}");
    let fields = decision(&session.get(&path).await, "");
    elsewhere.failpoints.arm("committed");
    let (answer, ()) = tokio::join!(approve(&session, &path, &fields), hidden());
    app.rival().run("ALTER TABLE hidden RENAME TO action_subjects");
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["hx-redirect"], path);

    let there = person.at(&elsewhere.url);
    let seen = there.action(&by_program).await;
    elsewhere.failpoints.arm("committed");
    let (reply, ()) = tokio::join!(there.approve_as_seen(&seen), hidden());
    app.rival().run("ALTER TABLE hidden RENAME TO action_subjects");
    assert_eq!((reply.status, reply.code()), (StatusCode::SERVICE_UNAVAILABLE, "unavailable"));

    for action in [by_page, by_program] {
        assert_eq!(person.action(&action).await["status"], "executed");
    }
    app.tear_down().await;
}

/// Approves as the page's script does.
async fn approve(session: &Session, path: &str, fields: &[(&str, String)]) -> Response {
    let fields = fields.iter().cloned().chain([("form_token", session.form_token.clone())]);
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let post = client().post(format!("{}{path}/approve", session.site));
    let post = post
        .header(COOKIE, &session.cookie)
        .header("hx-request", "true")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    post.body(body).send().await.unwrap()
}

in_browser!(a_decision_needs_no_page_load_and_one_key_decides_nothing);
async fn a_decision_needs_no_page_load_and_one_key_decides_nothing(app: &TestApp, browser: &Browser) {
    app.order("#1001", 50_000).await;
    app.order("#1002", 60_000).await;
    let first = app.ask("request_refund", shop::refund("1001", 100)).await;
    let second = app.ask("request_refund", shop::refund("1002", 200)).await;
    browser.sign_in(app.person(Role::Approver).await).await;
    browser.goto(&format!("/actions/{first}")).await;
    browser.execute("window.samePage = true").await;

    browser
        .execute("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', bubbles: true}))")
        .await;
    let focused = browser.execute("return document.activeElement.dataset.key").await;
    assert_eq!(focused, "a");
    assert_eq!(app.order_now("#1001").await.refunded_minor, 0);

    browser.click("Approve INR 1.00").await;
    browser.see("Approved by approver@example.com").await;
    assert_eq!(browser.execute("return window.samePage").await, true);
    assert_eq!(browser.text_of("#waiting").await, "1");
    assert_eq!(
        browser.execute("return document.title").await,
        "(1) Refund INR 1.00 on order #1001 · Countersign"
    );

    // A refused decision is shown in place as well.
    browser.click("Refund order #1002").await;
    browser.see("Approve INR 2.00").await;
    browser.execute("window.samePage = true").await;
    app.person(Role::Owner).await.reject(&second, "No").await;
    browser.click("Approve INR 2.00").await;
    browser.see("The action is already rejected: owner@example.com was first.").await;
    assert_eq!(browser.execute("return window.samePage").await, true);
    assert_eq!(app.order_now("#1002").await.refunded_minor, 0);
}

in_browser!(without_javascript_it_is_decided_all_the_same);
async fn without_javascript_it_is_decided_all_the_same(app: &TestApp, browser: &Browser) {
    app.order("#1001", 50_000).await;
    app.ask("request_refund", shop::refund("1001", 100)).await;
    browser.without_javascript().await;
    browser.sign_in(app.person(Role::Approver).await).await;
    browser.goto("/").await;
    browser.click_on(".row").await;
    browser.click("Approve INR 1.00").await;
    browser.see("Approved by approver@example.com").await;
    assert_eq!(app.order_now("#1001").await.refunded_minor, 100);
}
