//! Cancellations × a refund of one order, approved at once: the rules of each hold afterwards, the order is consistent.

use countersign::store::people::Role;
use serde_json::Value;

use super::{CONTENDERS, ROUNDS};
use crate::support::races::{race, repeat};
use crate::support::shop::{cancellation, id, refund};
use crate::support::{TestApp, races};

races!(two_cancellations_and_a_refund_at_once);

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
