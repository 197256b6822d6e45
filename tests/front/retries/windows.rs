//! How long a repetition is a retry, kind by kind, measured from the decision.

use chrono::TimeDelta;
use countersign::store::people::Role;
use serde_json::{Value, json};

use crate::support::shop::{adjustment, cancellation, id, refund, with_key};
use crate::support::{Backend, TestApp, backends};

fn requests() -> [(&'static str, &'static str, Value); 3] {
    [
        ("refund", "request_refund", refund("#1001", 100)),
        ("order_cancellation", "request_order_cancellation", cancellation("#1002")),
        ("stock_adjustment", "request_stock_adjustment", adjustment("SKU-1", 1)),
    ]
}

async fn fill(app: &TestApp) {
    app.product("SKU-1", 5).await;
    for order in ["#1001", "#1002"] {
        app.order(order, 50_000).await;
    }
}

fn window(app: &TestApp, kind: &str) -> TimeDelta {
    let kind = app.inner.gate.registry.find_kind(kind).unwrap();
    TimeDelta::from_std(kind.spec().retry_window).unwrap()
}

/// Asks for it just before the window ends, measured from a decision that took its time, and at its end.
async fn ask_at_the_edge(app: &TestApp, ending: &str, decide: impl AsyncFn(&str)) {
    fill(app).await;
    let books = app.books();
    for (kind, tool, arguments) in requests() {
        let first = app.ask(tool, arguments.clone()).await;
        app.inner.clock.shift(TimeDelta::minutes(20));
        decide(&first).await;

        app.inner.clock.shift(window(app, kind) - TimeDelta::seconds(30));
        let replayed = app.agent.call(tool, arguments.clone()).await.ok();
        assert_eq!((id(&replayed), &replayed["disposition"]), (first.as_str(), &json!("replayed")), "{kind}");
        assert_eq!(replayed["status"], ending);

        app.inner.clock.shift(TimeDelta::seconds(30));
        let next = app.agent.call(tool, arguments.clone()).await;
        books.balance();
        if (kind, ending) == ("order_cancellation", "executed") {
            assert_eq!(next.code(), "rule_refused", "a new action meets the rules");
            continue;
        }
        let next = next.ok();
        assert_eq!((&next["disposition"], &next["attempt"]), (&json!("new"), &json!(2)), "{kind}");
        assert_eq!(next["previous_action_id"], first);
        assert_eq!(next["status"], "pending");
    }
}

backends!(what_was_executed_replays_within_its_window);
async fn what_was_executed_replays_within_its_window(app: &TestApp) {
    let approver = app.person(Role::Approver).await;
    ask_at_the_edge(app, "executed", async |action| {
        assert_eq!(approver.approve(action).await.ok()["status"], "executed");
    })
    .await;
    assert_eq!(app.order_now("#1001").await.refunded_minor, 100);
    assert_eq!(app.stock_now("SKU-1").await, 5 + 3 + 1, "the cancellation's three pieces, and the one");
}

backends!(what_was_rejected_replays_within_its_window);
async fn what_was_rejected_replays_within_its_window(app: &TestApp) {
    let approver = app.person(Role::Approver).await;
    ask_at_the_edge(app, "rejected", async |action| {
        approver.reject(action, "Not yet").await.ok();
    })
    .await;
    assert_eq!(app.order_now("#1001").await.refunded_minor, 0);
}

backends!(an_explicit_key_replays_for_ever);
async fn an_explicit_key_replays_for_ever(app: &TestApp) {
    fill(app).await;
    let (books, approver) = (app.books(), app.person(Role::Approver).await);
    let keyed = |(kind, tool, arguments)| (kind, tool, with_key(arguments, format!("ticket 7, {kind}")));
    let mut executed = Vec::new();
    for (kind, tool, arguments) in requests().map(keyed) {
        let action = app.ask(tool, arguments).await;
        assert_eq!(approver.approve(&action).await.ok()["status"], "executed", "{kind}");
        executed.push(action);
    }
    app.inner.clock.shift(TimeDelta::days(400));
    for ((kind, tool, arguments), action) in requests().map(keyed).into_iter().zip(executed) {
        let again = app.agent.call(tool, arguments).await.ok();
        assert_eq!((id(&again), &again["disposition"]), (action.as_str(), &json!("replayed")), "{kind}");
        assert_eq!(again["status"], "executed", "{kind}");
    }
    books.balance();
    assert_eq!(app.order_now("#1001").await.refunded_minor, 100);
    assert_eq!(app.stock_now("SKU-1").await, 5 + 3 + 1, "the cancellation's three pieces, and the one");
}

backends!(the_next_attempt_has_an_expiry_of_its_own);
async fn the_next_attempt_has_an_expiry_of_its_own(app: &TestApp) {
    fill(app).await;
    let first = app.ask("request_refund", refund("#1001", 100)).await;
    app.inner.clock.shift(TimeDelta::minutes(30));
    let next = app.agent.call("request_refund", refund("#1001", 100)).await.ok();
    assert_eq!((&next["attempt"], &next["previous_action_id"]), (&json!(2), &json!(first)));

    app.inner.clock.shift(TimeDelta::minutes(29));
    let joined = app.agent.call("request_refund", refund("#1001", 100)).await.ok();
    assert_eq!((id(&joined), &joined["disposition"]), (id(&next), &json!("joined")));
    app.person(Role::Approver).await.approve(id(&next)).await.ok();
    assert_eq!(app.order_now("#1001").await.refunded_minor, 100);
}

backends!(a_rule_that_failed_and_holds_again);
async fn a_rule_that_failed_and_holds_again(app: &TestApp) {
    fill(app).await;
    let (books, approver) = (app.books(), app.person(Role::Approver).await);
    let refunds = || app.rival().count("refunds", "1 = 1");
    let status = |status: &str| {
        app.rival().run(&format!(
            "UPDATE orders SET financial_status = '{status}', version = version + 1 WHERE name = '#1001'"
        ));
    };
    let ask = async || app.agent.call("request_refund", refund("#1001", 100)).await.ok();

    let first = ask().await;
    status("voided");
    let failed = approver.approve(id(&first)).await.ok();
    assert_eq!(
        (&failed["status"], &failed["refusal"]["rule"]),
        (&json!("failed"), &json!("not_refundable"))
    );
    assert_eq!((refunds(), app.order_now("#1001").await.refunded_minor), (0, 0));

    status("paid");
    let second = ask().await;
    assert_eq!((&second["disposition"], &second["attempt"]), (&json!("new"), &json!(2)));
    assert_eq!(approver.approve(id(&second)).await.ok()["status"], "executed");
    assert_eq!((refunds(), app.order_now("#1001").await.refunded_minor), (1, 100));

    let third = ask().await;
    assert_eq!((id(&third), &third["disposition"]), (id(&second), &json!("replayed")));
    assert_eq!((refunds(), app.order_now("#1001").await.refunded_minor), (1, 100));
    books.balance();
}

backends!(an_approver_is_told_of_the_earlier_one);
async fn an_approver_is_told_of_the_earlier_one(app: &TestApp) {
    fill(app).await;
    let approver = app.person(Role::Approver).await;
    let first = app.ask("request_refund", refund("#1001", 100)).await;
    approver.approve(&first).await.ok();
    app.inner.clock.shift(TimeDelta::hours(25));
    let second = app.ask("request_refund", refund("#1001", 100)).await;

    let session = app.session(approver).await;
    let page = session.get(&format!("/actions/{second}")).await.html;
    assert!(page.contains("25 h ago"), "{page}");
    assert!(page.contains(&format!("/actions/{first}")), "{page}");
}

backends!(without_a_window_a_write_needs_a_key);
async fn without_a_window_a_write_needs_a_key(backend: &Backend) {
    let app = TestApp::with(*backend, |config| config.retry_window = Some("0".parse().unwrap())).await;
    fill(&app).await;
    let before = app.rows().await;
    for (_, tool, arguments) in requests() {
        let refused = app.agent.call(tool, arguments.clone()).await;
        assert_eq!(refused.code(), "idempotency_key_required");
        assert_eq!(refused.body["error"]["field"], "idempotency_key");
    }
    assert_eq!(app.grown_since(&before).await, [("events", 3)]);
    let keyed = with_key(refund("#1001", 100), "ticket 7");
    assert_eq!(app.agent.call("request_refund", keyed).await.ok()["disposition"], "new");
}

backends!(without_a_window_an_equal_write_is_acknowledged_all_the_same);
async fn without_a_window_an_equal_write_is_acknowledged_all_the_same(backend: &Backend) {
    for (window, passed) in [("0", 60 * 23), ("10m", 60 * 23), ("30h", 60 * 29)] {
        let app = TestApp::with(*backend, |config| config.retry_window = Some(window.parse().unwrap())).await;
        fill(&app).await;
        let (approver, other) =
            (app.person(Role::Approver).await, app.add_agent("another", &["orders:write"]).await);
        let keyed = with_key(refund("#1001", 100), "ticket 7");
        let first = app.ask("request_refund", keyed.clone()).await;
        approver.approve(&first).await.ok();

        app.inner.clock.shift(TimeDelta::minutes(passed));
        let second = other.call("request_refund", keyed).await.ok();
        let mut seen = approver.action_alone(id(&second)).await;
        assert_eq!(seen["related"][0]["action_id"], first, "{window}");
        let related = seen.as_object_mut().unwrap().remove("related");
        assert_eq!(approver.approve_as_seen(&seen).await.code(), "related_actions", "{window}");
        seen["related"] = related.unwrap();
        assert_eq!(approver.approve_as_seen(&seen).await.ok()["status"], "executed");
        assert_eq!(app.order_now("#1001").await.refunded_minor, 200);
    }
}

#[test]
fn the_readme_tells_the_windows_of_the_code() {
    let registry = countersign::app::registry(
        &countersign::config::Config::on("sqlite://unused").unwrap(),
        countersign::db::Clock::default(),
    );
    let readme: Vec<_> = include_str!("../../../README.md").split_whitespace().collect();
    let readme = readme.join(" ");
    for kind in registry.kinds() {
        let minutes = kind.spec().retry_window.as_secs() / 60;
        let window = if minutes.is_multiple_of(60) {
            format!("{} h", minutes / 60)
        } else {
            format!("{minutes} min")
        };
        let told = format!("`{}` for {window}", kind.spec().name);
        assert!(readme.contains(&told), "the README doesn't say: {told}");
    }
}
