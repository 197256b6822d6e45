//! Cancellations × a refund of one order, approved at once: the rules of each hold afterwards, the order is consistent.

use countersign::store::people::Role;
use serde_json::Value;

use super::{CONTENDERS, ROUNDS};
use crate::support::held::GatedApp;
use crate::support::races::{race, repeat};
use crate::support::shop::{cancellation, id, refund};
use crate::support::{TestApp, backends, races};

races!(two_cancellations_and_a_refund_at_once);
backends!(one_waits_for_the_other);

async fn two_cancellations_and_a_refund_at_once(app: &TestApp) {
    let other = app.add_agent("another", &["orders:write"]).await;
    let person = app.person(Role::Approver).await;
    let windows = person.windows(CONTENDERS);
    app.product("SKU-1", 7).await;
    let books = app.books();
    repeat("cancel × cancel × refund", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let stock = app.stock_now("SKU-1").await;
        let asked = [
            app.agent.call("request_order_cancellation", cancellation(&order)).await.ok(),
            other.call("request_order_cancellation", cancellation(&order)).await.ok(),
            app.agent.call("request_refund", refund(&order, 50_000)).await.ok(),
        ];
        let mut seen = Vec::new();
        for asked in &asked {
            seen.push(person.action_alone(id(asked)).await);
        }

        let approvals =
            windows.iter().enumerate().map(|(number, window)| window.approving(&seen[number % 3]));
        let replies = race(approvals).await;

        let ended: Vec<Value> =
            replies.into_iter().filter(|reply| reply.status == 200).map(|reply| reply.body).collect();
        assert_eq!(ended.len(), 3, "{ended:?}");
        let (refunds, cancellations): (Vec<_>, Vec<_>) =
            ended.into_iter().partition(|action| action["kind"] == "refund");
        assert_eq!(refunds[0]["status"], "executed");
        let rules: Vec<_> =
            cancellations.iter().filter_map(|action| action["refusal"]["rule"].as_str()).collect();
        assert_eq!(rules, ["already_cancelled"]);
        let order = app.order_now(&order).await;
        assert_eq!((order.refunded_minor, order.cancelled_at.is_some()), (50_000, true));
        assert_eq!(app.stock_now("SKU-1").await, stock + 3);
        books.balance();
    })
    .await;
}

/// A cancellation before a refund, a refund before a cancellation, a cancellation before another.
async fn one_waits_for_the_other(GatedApp { app, gate }: &GatedApp) {
    let other = app.add_agent("another", &["orders:write"]).await;
    let person = app.person(Role::Approver).await;
    app.product("SKU-1", 7).await;
    let books = app.books();
    repeat(
        "cancel, then refund, and the other way round",
        app.database.backend,
        ROUNDS,
        async |round| {
            let order = app.order(&format!("#{round}"), 50_000).await.name;
            let stock = app.stock_now("SKU-1").await;
            let cancel = ("request_order_cancellation", cancellation(&order));
            let give_back = ("request_refund", refund(&order, 50_000));
            let [first, second] = match round % 3 {
                0 => [cancel, give_back],
                1 => [give_back, cancel],
                _ => [cancel.clone(), cancel],
            };
            let first = app.ask(first.0, first.1).await;
            let second = other.call(second.0, second.1).await.ok();
            // Looked at when both are there: two equal ones are acknowledged.
            let [first, second] = [person.action_alone(&first).await, person.action_alone(id(&second)).await];

            gate.shut();
            let before = tokio::spawn(person.approving(&first));
            gate.until_reached().await;
            let after = tokio::spawn(person.approving(&second));
            app.until_blocked(1, 1).await;
            gate.open();

            assert_eq!(before.await.unwrap().ok()["status"], "executed");
            let after = after.await.unwrap().ok();
            let order = app.order_now(&order).await;
            if round % 3 == 2 {
                assert_eq!(after["refusal"]["rule"], "already_cancelled", "{after}");
                assert_eq!((order.refunded_minor, order.cancelled_at.is_some()), (0, true));
            } else {
                assert_eq!(after["status"], "executed", "{after}");
                assert_eq!((order.refunded_minor, order.cancelled_at.is_some()), (50_000, true));
            }
            assert_eq!(
                order.version,
                if round % 3 == 2 { 2 } else { 3 },
                "each saw what the other had written"
            );
            assert_eq!(app.stock_now("SKU-1").await, stock + 3);
            books.balance();
        },
    )
    .await;
}
