//! An order edited between request and approval: the rules are checked again in the write, and an approver who looked before
//! the edit is stopped.

use countersign::store::people::Role;
use futures_util::FutureExt;

use super::{CONTENDERS, ROUNDS};
use crate::support::races::{race, repeat};
use crate::support::settings::figure;
use crate::support::shop::refund;
use crate::support::{TestApp, backends, races};

backends!(what_an_approver_saw_must_still_be_so, the_rules_hold_in_the_write);
races!(edits_and_approvals_at_once);

async fn what_an_approver_saw_must_still_be_so(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let books = app.books();
    repeat("edited after it was seen", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action(&action).await;

        let reply = app.behind(&lower(&order, 40_000), person.approving(&seen)).await;

        assert_eq!(reply.code(), "subject_changed");
        let now = person.action(&action).await;
        assert_eq!(now["status"], "pending");
        assert_ne!(now["subject_versions"], seen["subject_versions"]);
        assert_ne!(now["preview"], seen["preview"]);
        assert_eq!(person.approve_as_seen(&now).await.ok()["status"], "executed");
        books.balance();
    })
    .await;
}

async fn the_rules_hold_in_the_write(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let books = app.books();
    repeat("edited while an approval waits", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action_alone(&action).await;

        let reply = app.behind(&lower(&order, 11_999), person.approving(&seen)).await;

        let action = reply.ok();
        assert_eq!(action["refusal"]["rule"], "exceeds_refundable", "{action}");
        assert_eq!(app.order_now(&order).await.refunded_minor, 0);
        books.balance();
    })
    .await;
}

async fn edits_and_approvals_at_once(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let windows = person.windows(CONTENDERS - 1);
    let (books, mut executed) = (app.books(), 0);
    repeat("approve × edit", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action_alone(&action).await;

        let (mut editor, edit) = (app.rival(), format!("{} AND refunded_minor = 0", lower(&order, 11_999)));
        let edit = async move {
            tokio::task::spawn_blocking(move || editor.run(&edit)).await.unwrap();
            None
        };
        let approvals = windows.iter().map(|window| {
            let approval = window.approving(&seen);
            async { Some(approval.await) }.boxed()
        });
        let replies = race(approvals.chain([edit.boxed()])).await;

        let won = replies.into_iter().flatten().filter(|reply| reply.status == 200);
        let statuses: Vec<_> = won.map(|reply| reply.body["status"].clone()).collect();
        assert_eq!(statuses.len(), 1, "{statuses:?}");
        let order = app.order_now(&order).await;
        let expected = if statuses[0] == "executed" { (50_000, 12_000) } else { (11_999, 0) };
        assert_eq!((order.total_minor, order.refunded_minor), expected);
        books.balance();
        executed += usize::from(statuses[0] == "executed");
    })
    .await;
    figure(&format!("approve × edit, {}: {executed} times before the edit", app.database.backend));
}

/// Somebody in the shop takes something off an order.
fn lower(order: &str, total_minor: i64) -> String {
    format!("UPDATE orders SET total_minor = {total_minor}, version = version + 1 WHERE name = '{order}'")
}
