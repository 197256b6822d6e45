//! Refunds that together exceed the total: the sum never does.

use countersign::store::people::Role;

use super::{CONTENDERS, ROUNDS};
use crate::support::held::GatedApp;
use crate::support::races::{race, repeat};
use crate::support::shop::refund;
use crate::support::{TestApp, backends, races};

races!(sixteen_refunds_of_which_two_fit);
backends!(the_second_refund_sees_the_first);

async fn sixteen_refunds_of_which_two_fit(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let windows = person.windows(CONTENDERS);
    let books = app.books();
    repeat("refunds over the total", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let mut approvals = Vec::new();
        for (number, window) in windows.iter().enumerate() {
            let action = app.ask("request_refund", refund(&order, 20_000 + number)).await;
            approvals.push(window.approving(&person.action_alone(&action).await));
        }

        let replies = race(approvals).await;

        let ended: Vec<_> = replies.into_iter().map(|reply| reply.ok()).collect();
        let failed = ended.iter().filter(|action| action["status"] == "failed");
        assert!(failed.clone().all(|action| action["refusal"]["rule"] == "exceeds_refundable"));
        assert_eq!(failed.count(), CONTENDERS - 2);
        let refunded = app.order_now(&order).await.refunded_minor;
        assert!((40_000..=50_000).contains(&refunded), "{refunded}");
        books.balance();
    })
    .await;
}

async fn the_second_refund_sees_the_first(GatedApp { app, gate }: &GatedApp) {
    let person = app.person(Role::Approver).await;
    let books = app.books();
    repeat("a refund, then one too many", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let mut approvals = Vec::new();
        for amount in [30_000, 30_001] {
            let action = app.ask("request_refund", refund(&order, amount)).await;
            approvals.push(person.approving(&person.action_alone(&action).await));
        }
        let [one, other] = approvals.try_into().ok().unwrap();

        gate.shut();
        let one = tokio::spawn(one);
        gate.until_reached().await;
        let other = tokio::spawn(other);
        app.until_blocked(1, 1).await;
        gate.open();

        assert_eq!(one.await.unwrap().ok()["status"], "executed");
        assert_eq!(other.await.unwrap().ok()["refusal"]["rule"], "exceeds_refundable");
        assert_eq!(app.order_now(&order).await.refunded_minor, 30_000);
        books.balance();
    })
    .await;
}
