//! What an approver is told of other requests on the same record, however many there are.

use countersign::store::people::Role;
use serde_json::json;

use super::{decide, ticked};
use crate::support::shop::{cancellation, id, refund, with_key};
use crate::support::{TestApp, backends};

backends!(a_flood_hides_no_other_request);
async fn a_flood_hides_no_other_request(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let approver = app.person(Role::Approver).await;
    let other = app.add_agent("another", &["orders:write"]).await;
    let cancel = other.call("request_order_cancellation", cancellation("#1001")).await.ok();
    let executed = other.call("request_refund", refund("#1001", 500)).await.ok();
    approver.approve(id(&executed)).await.ok();
    for amount in 1..=30 {
        app.ask("request_refund", refund("#1001", amount)).await;
    }
    let action = app.ask("request_refund", refund("#1001", 45_000)).await;

    let seen = approver.action(&action).await;
    let related = seen["related"].as_array().unwrap();
    let named = |one: &str| related.iter().any(|other| other["action_id"] == one);
    assert!(named(id(&cancel)) && named(id(&executed)), "{seen}");
    assert_eq!(related[0]["action_id"], id(&cancel), "what others ask for comes first");
    let left_out = usize::try_from(seen["related_left_out"].as_u64().unwrap()).unwrap();
    assert_eq!(related.len() + left_out, 32, "{seen}");
    assert!(related.len() < 10, "{seen}");

    let page = app.session(approver).await.get(&format!("/actions/{action}")).await.html;
    assert!(page.contains("There are 31 other requests on the same record."), "{page}");
    assert!(page.contains(&format!("/actions/{}\"", id(&cancel))), "{page}");
    assert!(page.contains(&format!("and <a href=\"/actions\">{left_out} more</a>")), "{page}");
}

backends!(what_a_process_of_an_earlier_release_stores_is_seen_too);
async fn what_a_process_of_an_earlier_release_stores_is_seen_too(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let approver = app.person(Role::Approver).await;
    let earlier = app.ask("request_order_cancellation", cancellation("#1001")).await;
    let action = app.ask("request_refund", refund("#1001", 100)).await;
    // It knows nothing of the column that has come since.
    app.rival().run(&format!(
        "CREATE TEMPORARY TABLE old AS SELECT action_id, subject, version FROM action_subjects WHERE action_id = '{earlier}';
         DELETE FROM action_subjects WHERE action_id = '{earlier}';
         INSERT INTO action_subjects (action_id, subject, version) SELECT action_id, subject, version FROM old"
    ));
    let seen = approver.action(&action).await;
    assert_eq!(seen["related"][0]["action_id"], earlier.as_str(), "{seen}");
}

backends!(so_many_equal_requests_that_nobody_can_name_them);
async fn so_many_equal_requests_that_nobody_can_name_them(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let approver = app.person(Role::Approver).await;
    let mut asked = Vec::new();
    for number in 0..202 {
        let arguments = with_key(refund("#1001", 100), format!("ticket {number}"));
        asked.push(app.ask("request_refund", arguments).await);
    }
    let action = &asked[100];
    let refused = approver.approve(action).await;
    assert_eq!(refused.code(), "related_actions");
    let said = refused.body["detail"].as_str().unwrap();
    assert!(said.contains("More than 200") && said.contains("Reject"), "{said}");
    let session = app.session(approver).await;
    let seen = approver.action(action).await;
    let page = session.approving(&seen).await;
    assert!(page.html.contains("more than can be acknowledged"), "{}", page.html);
    assert!(!page.html.contains("name=\"acknowledge\""), "there is nothing to tick");

    approver.reject(&asked[0], "Too many").await.ok();
    let path = format!("/actions/{action}/approve");
    let asking = decide(&session, &path, &super::decision(&page, "")).await;
    let done = decide(&session, &path, &ticked(&asking, "acknowledge", "")).await;
    assert_eq!(done.status, 303, "{}", done.html);
    assert_eq!(app.order_now("#1001").await.refunded_minor, 100);
    let again = approver.approve(&asked[150]).await;
    assert_eq!(again.ok()["status"], json!("executed"), "a program can name them too");
}
