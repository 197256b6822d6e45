//! Two agents ask for the same refund, and both are approved at once: whoever did not name the other is stopped, and never
//! are both done by accident.

use countersign::store::people::Role;
use serde_json::Value;

use super::{CONTENDERS, ROUNDS};
use crate::support::races::{race, repeat};
use crate::support::shop::{id, refund};
use crate::support::{TestApp, races};

races!(equal_writes_approved_at_once);

async fn equal_writes_approved_at_once(app: &TestApp) {
    let other = app.add_agent("another", &["orders:write"]).await;
    let (one, two) = (app.person(Role::Approver).await, app.person(Role::Owner).await);
    let windows = [one.windows(CONTENDERS / 2), two.windows(CONTENDERS / 2)].concat();
    let books = app.books();
    repeat("two agents, one refund", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let arguments = refund(&order, 12_000);
        let first = app.ask("request_refund", arguments.clone()).await;
        let second = id(&other.call("request_refund", arguments).await.ok()).to_owned();
        let mut seen = [one.action_alone(&first).await, one.action_alone(&second).await];
        // The approvals of one of them name the other, or none do.
        let named = (round % 3 < 2).then_some(round % 3);
        for (number, seen) in seen.iter_mut().enumerate().filter(|(number, _)| Some(*number) != named) {
            assert_eq!(seen["related"].as_array().map(Vec::len), Some(1), "{number}");
            forget_the_other(seen);
        }

        let approvals =
            windows.iter().enumerate().map(|(number, window)| window.approving(&seen[number % 2]));
        let replies = race(approvals).await;

        for (number, reply) in replies.iter().enumerate().filter(|(_, reply)| reply.status != 200) {
            let code = if Some(number % 2) == named { "already_decided" } else { "related_actions" };
            assert_eq!(reply.code(), code, "{reply:?}");
        }
        let done: Vec<_> = replies.into_iter().filter(|reply| reply.status == 200).collect();
        assert_eq!(done.len(), usize::from(named.is_some()), "{done:?}");
        refunded(app, &order, done.len()).await;

        // Whoever means it may.
        for action in [&first, &second] {
            let again = one.approve(action).await;
            assert!(again.status == 200 || again.code() == "already_decided", "{again:?}");
        }
        refunded(app, &order, 2).await;
        books.balance();
    })
    .await;
}

/// As somebody would who looked before the other one was there.
fn forget_the_other(seen: &mut Value) {
    seen.as_object_mut().unwrap().remove("related");
}

async fn refunded(app: &TestApp, order: &str, times: usize) {
    let sum = i64::try_from(times).unwrap() * 12_000;
    assert_eq!(app.order_now(order).await.refunded_minor, sum);
    let order =
        format!("action_id IN (SELECT action_id FROM action_subjects WHERE subject = 'order:{order}')");
    assert_eq!(app.rival().count("refunds", &order), sum / 12_000);
}
