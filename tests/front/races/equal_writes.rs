//! Two agents ask for the same refund, and both are approved at once: whoever did not name the other is stopped, and never
//! are both done by accident.

use chrono::TimeDelta;
use countersign::store::people::Role;
use serde_json::Value;

use super::{CONTENDERS, ROUNDS};
use crate::support::races::{race, repeat};
use crate::support::run::run;
use crate::support::shop::{id, refund, with_key};
use crate::support::{Backend, TestApp, backends, races};

races!(equal_writes_approved_at_once);
backends!(an_equal_write_of_a_revoked_agent_stops_nobody);

/// The first approval names the second request, comes in time, and is still under way when its action is past due; the other
/// one names nobody. On SQLite there is one writer at a time.
#[test]
fn an_equal_write_that_is_under_way_is_no_stranger() {
    run(Backend::Postgres, async |app: &TestApp| {
        let other = app.add_agent("another", &["orders:write"]).await;
        let person = app.person(Role::Approver).await;
        repeat("an equal write under way", app.database.backend, ROUNDS, async |round| {
            let order = app.order(&format!("#{round}"), 50_000).await.name;
            let first = app.ask("request_refund", refund(&order, 12_000)).await;
            app.inner.clock.shift(TimeDelta::minutes(29));
            let second = id(&other.call("request_refund", refund(&order, 12_000)).await.ok()).to_owned();
            let (named, mut blind) = (person.action_alone(&first).await, person.action_alone(&second).await);
            forget_the_other(&mut blind);

            let mut rival = app.rival();
            rival.begin(&format!("UPDATE orders SET version = version WHERE name = '{order}'"));
            let in_time = tokio::spawn(person.approving(&named));
            app.until_blocked(0, 1).await;
            app.inner.clock.shift(TimeDelta::minutes(2));
            let stranger = tokio::spawn(person.approving(&blind));
            app.until_blocked(0, 2).await;
            rival.run("ROLLBACK");

            assert_eq!(in_time.await.unwrap().ok()["status"], "executed");
            assert_eq!(stranger.await.unwrap().code(), "related_actions");
            refunded(app, &order, 1).await;
        })
        .await;
    });
}

async fn an_equal_write_of_a_revoked_agent_stops_nobody(app: &TestApp) {
    let other = app.add_agent("another", &["orders:write"]).await;
    let person = app.person(Role::Approver).await;
    app.order("#1001", 50_000).await;
    let action = app.ask("request_refund", refund("#1001", 100)).await;
    for number in 0..120 {
        other
            .call("request_refund", with_key(refund("#1001", 100), format!("{number}")))
            .await
            .ok();
    }
    assert_eq!(person.approve(&action).await.ok()["status"], "executed", "all 120 can be named");

    let action = app.ask("request_refund", with_key(refund("#1001", 101), "one")).await;
    other.call("request_refund", refund("#1001", 101)).await.ok();
    let mut seen = person.action_alone(&action).await;
    forget_the_other(&mut seen);
    assert_eq!(person.approve_as_seen(&seen).await.code(), "related_actions");
    app.inner.auth.revoke("another").await.unwrap();
    assert_eq!(person.approve_as_seen(&seen).await.ok()["status"], "executed");
}

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
