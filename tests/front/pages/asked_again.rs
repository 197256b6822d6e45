//! After a refusal the page asks once more, and takes no second click for an answer.

use std::time::Duration;

use countersign::store::people::Role;
use reqwest::StatusCode;

use super::{decide, decision, ticked};
use crate::support::{Agent, Browser, TestApp, backends, in_browser, shop};

const ALIKE: &str = "I know of the other request, and mean this one as well.";
const CHANGED: &str = "I have looked at it as it stands now.";

async fn another(app: &TestApp) -> Agent {
    app.add_agent("twin", &["orders:write"]).await
}

in_browser!(a_double_click_passes_no_question);
async fn a_double_click_passes_no_question(app: &TestApp, browser: &Browser) {
    let twin = another(app).await;
    browser.sign_in(app.person(Role::Approver).await).await;
    for (round, pause) in [30, 80, 160, 300, 600].into_iter().enumerate() {
        let order = app.order(&format!("#1{round}"), 50_000).await.name;
        let action = app.ask("request_refund", shop::refund(&order, 100)).await;
        browser.goto(&format!("/actions/{action}")).await;
        browser.see("Approve INR 1.00").await;
        if round % 2 == 0 {
            twin.call("request_refund", shop::refund(&order, 100)).await.ok();
        } else {
            app.rival()
                .run(&format!("UPDATE orders SET version = version + 1 WHERE name = '{order}'"));
        }
        browser.double_click("button.primary", Duration::from_millis(pause)).await;
        browser.see("Not done.").await;
        assert_eq!(app.order_now(&order).await.refunded_minor, 0, "{pause} ms between two clicks");
    }
}

in_browser!(an_equal_request_is_shown_and_asked_about_once_more);
async fn an_equal_request_is_shown_and_asked_about_once_more(app: &TestApp, browser: &Browser) {
    let order = app.order("#1001", 50_000).await.name;
    let action = app.ask("request_refund", shop::refund(&order, 100)).await;
    let other = another(app).await.call("request_refund", shop::refund(&order, 100)).await.ok();
    browser.sign_in(app.person(Role::Approver).await).await;
    browser.goto(&format!("/actions/{action}")).await;
    browser.click("Approve INR 1.00").await;
    browser.see("Not done.").await;
    browser.see("It is exactly the same write.").await;
    assert_eq!(browser.count(&format!(".others a[href='/actions/{}']", shop::id(&other))).await, 1);

    browser.click("Approve INR 1.00 as well").await;
    assert_eq!(app.order_now("#1001").await.refunded_minor, 0, "without the tick");
    browser.click(ALIKE).await;
    browser.click("Approve INR 1.00 as well").await;
    browser.see("Approved by approver@example.com").await;
    assert_eq!(app.order_now("#1001").await.refunded_minor, 100);
}

backends!(without_the_tick_it_is_refused_again);
async fn without_the_tick_it_is_refused_again(app: &TestApp) {
    let order = app.order("#1001", 50_000).await.name;
    let action = app.ask("request_refund", shop::refund(&order, 100)).await;
    let session = app.session(app.person(Role::Approver).await).await;
    let path = format!("/actions/{action}");
    let approve = format!("{path}/approve");
    let page = session.get(&path).await;
    let change = "UPDATE orders SET version = version + 1";

    another(app).await.call("request_refund", shop::refund(&order, 100)).await.ok();
    app.rival().run(change);
    let mut asked = decide(&session, &approve, &decision(&page, "")).await;
    for question in [ALIKE, CHANGED] {
        assert_eq!(asked.status, StatusCode::CONFLICT);
        assert!(asked.html.contains(question), "no {question}");
        let unticked = decide(&session, &approve, &decision(&asked, "")).await;
        assert_eq!(unticked.status, StatusCode::CONFLICT);
        assert!(unticked.html.contains(question), "asked again");
        // Between the first answer and the second, the record changes once more.
        let name = if question == ALIKE { "acknowledge" } else { "subject_versions" };
        let ticked = ticked(&unticked, name, "");
        if question == ALIKE {
            app.rival().run(change);
        }
        asked = decide(&session, &approve, &ticked).await;
    }
    assert_eq!(asked.status, StatusCode::SEE_OTHER);
    assert_eq!(app.order_now("#1001").await.refunded_minor, 100);
}
