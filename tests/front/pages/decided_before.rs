//! What an approver is told of the same write, decided before.

use chrono::TimeDelta;
use countersign::store::people::Role;

use crate::support::{TestApp, backends, shop};

backends!(a_rejection_hides_no_execution);
async fn a_rejection_hides_no_execution(app: &TestApp) {
    let order = app.order("#1001", 50_000).await.name;
    let person = app.person(Role::Approver).await;
    let twin = app.add_agent("twin", &["orders:write"]).await;
    let first = app.ask("request_refund", shop::refund(&order, 100)).await;
    let second = twin.call("request_refund", shop::refund(&order, 100)).await.ok();
    person.approve(shop::id(&second)).await.ok();
    app.inner.clock.shift(TimeDelta::minutes(10));
    person.approve(&first).await.ok();
    app.inner.clock.shift(TimeDelta::hours(25));
    let third = app.ask("request_refund", shop::refund(&order, 100)).await;
    person.reject(&third, "Not again").await.ok();
    app.inner.clock.shift(TimeDelta::hours(25));

    let fourth = app.ask("request_refund", shop::refund(&order, 100)).await;
    let page = app.session(person).await.get(&format!("/actions/{fourth}")).await.html;
    let told = |what: &str, id: &str| {
        let note = page.split("Exactly the same was ").find(|note| note.starts_with(what));
        assert!(note.is_some_and(|note| note.contains(&format!("/actions/{id}\""))), "{what}: {page}");
    };
    told("executed", &first);
    told("rejected", &third);
    assert!(page.contains("This one would do it once more."));
}
