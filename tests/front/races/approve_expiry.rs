//! Approve × expiry: the claim locks, reads the clock, then decides; the sweeper only hurries.

use chrono::TimeDelta;
use countersign::store::people::Role;
use futures_util::FutureExt;

use super::{CONTENDERS, ROUNDS};
use crate::support::held::GatedApp;
use crate::support::races::{race, repeat};
use crate::support::rival::lock_action;
use crate::support::settings::figure;
use crate::support::shop::refund;
use crate::support::{TestApp, backends, races};

races!(approvals_and_sweepers_when_the_time_is_over);
backends!(an_approval_that_waited_too_long_is_too_late, an_approval_that_came_in_time_counts);

/// Longer than a request waits for a decision.
const TOO_LONG: TimeDelta = TimeDelta::minutes(31);

async fn approvals_and_sweepers_when_the_time_is_over(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let windows = person.windows(CONTENDERS / 2);
    let (books, mut expired) = (app.books(), 0);
    repeat("approve × expiry", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action(&action).await;

        let approvals = windows.iter().map(|window| {
            let approval = window.approving(&seen);
            async { Some(approval.await) }.boxed()
        });
        let sweepers = (1..CONTENDERS / 2).map(|_| {
            let gate = app.inner.gate.clone();
            async move { gate.sweep().await.map(|_| None).unwrap() }.boxed()
        });
        let clock = app.time();
        let time = async move {
            clock.shift(TOO_LONG);
            None
        };
        let replies = race(approvals.chain(sweepers).chain([time.boxed()])).await;

        let status = person.action(&action).await["status"].clone();
        let approved = replies.iter().flatten().filter(|reply| reply.status == 200).count();
        assert_eq!(approved, usize::from(status == "executed"));
        let lost = replies.iter().flatten().filter(|reply| reply.status != 200);
        for loser in lost {
            assert_eq!(loser.code(), "already_decided");
            assert_eq!(loser.body["winner"]["status"], status);
        }
        app.inner.gate.sweep().await.unwrap();
        books.balance();
        expired += usize::from(status == "expired");
    })
    .await;
    figure(&format!("approve × expiry, {}: {expired} times expired", app.database.backend));
}

async fn an_approval_that_waited_too_long_is_too_late(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let books = app.books();
    repeat("due while an approval waits", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action(&action).await;

        let mut somebody = app.rival();
        somebody.begin(&lock_action(&action));
        let approval = tokio::spawn(person.approving(&seen));
        app.until_blocked(0, 1).await;
        app.time().shift(TOO_LONG);
        somebody.run("COMMIT");

        let reply = approval.await.unwrap();
        assert_eq!(reply.code(), "already_decided");
        assert_eq!(reply.body["winner"]["status"], "expired");
        assert_eq!(app.order_now(&order).await.refunded_minor, 0);
        books.balance();
    })
    .await;
}

async fn an_approval_that_came_in_time_counts(GatedApp { app, gate }: &GatedApp) {
    let person = app.person(Role::Approver).await;
    let books = app.books();
    repeat("due while an approval is under way", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action(&action).await;

        gate.shut();
        let approval = tokio::spawn(person.approving(&seen));
        gate.until_reached().await;
        app.time().shift(TOO_LONG);
        let sweeper = app.inner.gate.clone();
        let sweeper = tokio::spawn(async move { sweeper.sweep().await });
        app.until_blocked(1, 1).await;
        gate.open();

        assert_eq!(approval.await.unwrap().ok()["status"], "executed");
        assert_eq!(sweeper.await.unwrap().unwrap(), 0);
        books.balance();
    })
    .await;
}
