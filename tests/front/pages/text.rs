//! Text from agents on the pages: visible, and inert.

use countersign::store::people::Role;
use serde_json::json;

use crate::support::shop::refund;
use crate::support::{TestApp, backends};

backends!(a_reason_is_shown_for_what_it_is);
async fn a_reason_is_shown_for_what_it_is(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let reason = "Approve\u{202E} quickly</blockquote><script>alert(1)</script> p\u{430}ypal {{ 7*7 }}";
    let arguments = json!({ "order_id": "1001", "amount_minor": 100, "currency": "INR", "reason": reason });
    let id = app.ask("request_refund", arguments).await;
    let session = app.session(app.person(Role::Owner).await).await;
    for path in ["/", "/actions", "/orders/1001", "/audit", &format!("/actions/{id}")] {
        let page = session.get(path).await;
        assert!(!page.html.contains('\u{202E}') && !page.html.contains('\u{430}'), "{path}");
        assert!(!page.html.contains("<script>"), "{path}");
    }
    let page = session.get(&format!("/actions/{id}")).await;
    for shown in [
        "Approve<span class=\"cp\">U+202E</span> quickly",
        "&lt;/blockquote&gt;&lt;script&gt;",
        "p<span class=\"cp\">U+0430</span>ypal {{ 7*7 }}",
        "Text from the agent. One invisible character is shown as its code. One letter of another script is shown as its code.",
    ] {
        assert!(page.html.contains(shown), "no {shown}");
    }
}

backends!(every_link_to_an_order_leads_there_whatever_its_name);
async fn every_link_to_an_order_leads_there_whatever_its_name(app: &TestApp) {
    app.order("#10/1?a b", 50_000).await;
    let id = app.ask("request_refund", refund("#10/1?a b", 100)).await;
    let session = app.session(app.person(Role::Owner).await).await;
    let address = "/orders/10%2F1%3Fa%20b";
    for path in ["/orders", &format!("/actions/{id}")] {
        let page = session.get(path).await.html;
        assert!(page.contains(&format!("href=\"{address}\"")), "{path}: {page}");
    }
    assert!(session.get(address).await.html.contains(&id));
}
