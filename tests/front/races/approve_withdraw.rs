//! The agent withdraws × a person approves: one wins, and both are told who.

use countersign::store::people::Role;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{CONTENDERS, ROUNDS};
use crate::support::races::{race, repeat};
use crate::support::rival::lock_action;
use crate::support::settings::figure;
use crate::support::shop::refund;
use crate::support::{Agent, Person, TestApp, backends, races};

races!(withdrawals_and_approvals_at_once);
backends!(whoever_comes_first_wins);

async fn withdrawals_and_approvals_at_once(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let (windows, processes) = (person.windows(CONTENDERS / 2), app.agent.processes(CONTENDERS / 2));
    let (books, mut withdrawn) = (app.books(), 0);
    repeat("approve × withdraw", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action(&action).await;

        let approvals = windows.iter().map(|window| told_by_approving(window, &seen));
        let withdrawals = processes.iter().map(|process| told_by_withdrawing(process, &action));
        let told = race(approvals.chain(withdrawals)).await;

        let status = &person.action(&action).await["status"];
        assert!(told.iter().all(|told| told == status), "{status}: {told:?}");
        let refunded = app.order_now(&order).await.refunded_minor;
        assert_eq!(refunded, if status == "executed" { 12_000 } else { 0 });
        books.balance();
        withdrawn += usize::from(status == "withdrawn");
    })
    .await;
    figure(&format!("approve × withdraw, {}: {withdrawn} times withdrawn", app.database.backend));
}

async fn whoever_comes_first_wins(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let books = app.books();
    repeat(
        "approve, then withdraw; withdraw, then approve",
        app.database.backend,
        ROUNDS,
        async |round| {
            let order = app.order(&format!("#{round}"), 50_000).await.name;
            let action = app.ask("request_refund", refund(&order, 12_000)).await;
            let seen = person.action(&action).await;
            let mut contenders = [told_by_approving(person, &seen), told_by_withdrawing(&app.agent, &action)];
            let withdrawn_first = round % 2 == 1;
            if withdrawn_first {
                contenders.reverse();
            }

            let told = app.in_order(&lock_action(&action), contenders).await;

            let status = if withdrawn_first { "withdrawn" } else { "executed" };
            assert_eq!(told, [status, status]);
            books.balance();
        },
    )
    .await;
}

/// The state that an approver is told of: theirs, or the one that won.
fn told_by_approving(person: &Person, seen: &Value) -> BoxFuture<'static, Value> {
    let approval = person.approving(seen);
    let told = async {
        let reply = approval.await;
        if reply.status == 200 {
            return reply.body["status"].clone();
        }
        assert_eq!(reply.code(), "already_decided");
        reply.body["winner"]["status"].clone()
    };
    told.boxed()
}

/// The state that an agent is told of. Too late is no error.
fn told_by_withdrawing(agent: &Agent, action: &str) -> BoxFuture<'static, Value> {
    let withdrawal = agent.calling("withdraw_action", &json!({ "action_id": action }));
    async { withdrawal.await.ok()["status"].clone() }.boxed()
}
