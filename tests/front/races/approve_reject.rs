//! Approve × reject: one terminal state.

use countersign::store::people::Role;

use super::{CONTENDERS, ROUNDS};
use crate::support::person::Reply;
use crate::support::races::{race, repeat};
use crate::support::rival::lock_action;
use crate::support::settings::figure;
use crate::support::shop::refund;
use crate::support::{TestApp, backends, races};

races!(approvals_and_rejections_at_once);
backends!(whoever_comes_first_decides);

async fn approvals_and_rejections_at_once(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let windows = person.windows(CONTENDERS);
    let (books, mut rejected) = (app.books(), 0);
    repeat("approve × reject", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action(&action).await;

        let contenders = windows.iter().enumerate().map(|(number, window)| match number % 2 {
            0 => window.approving(&seen),
            _ => window.rejecting(&seen),
        });
        let replies = race(contenders).await;

        let status = person.action(&action).await["status"].clone();
        let refunded = app.order_now(&order).await.refunded_minor;
        assert_eq!(refunded, if status == "executed" { 12_000 } else { 0 });
        let (won, lost): (Vec<_>, Vec<_>) = replies.into_iter().partition(|reply| reply.status == 200);
        assert_eq!(won.len(), 1, "{won:?}");
        assert_eq!(won[0].body["status"], status);
        for loser in lost {
            assert_eq!(loser.code(), "already_decided");
            assert_eq!(loser.body["winner"]["status"], status);
        }
        books.balance();
        rejected += usize::from(status == "rejected");
    })
    .await;
    figure(&format!("approve × reject, {}: {rejected} times rejected", app.database.backend));
}

async fn whoever_comes_first_decides(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let books = app.books();
    repeat(
        "approve, then reject; reject, then approve",
        app.database.backend,
        ROUNDS,
        async |round| {
            let order = app.order(&format!("#{round}"), 50_000).await.name;
            let action = app.ask("request_refund", refund(&order, 12_000)).await;
            let seen = person.action(&action).await;
            let mut decisions = [person.approving(&seen), person.rejecting(&seen)];
            let mut statuses = ["executed", "rejected"];
            if round % 2 == 1 {
                decisions.reverse();
                statuses.reverse();
            }

            let replies = app.in_order(&lock_action(&action), decisions).await;

            let [first, second]: [Reply; 2] = replies.try_into().unwrap();
            assert_eq!(first.ok()["status"], statuses[0]);
            assert_eq!(second.code(), "already_decided");
            assert_eq!(second.body["winner"]["status"], statuses[0]);
            books.balance();
        },
    )
    .await;
}
