//! A person demoted, disabled or signed out between page and click: denied inside the transaction.

use countersign::store::people::Role;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{CONTENDERS, ROUNDS};
use crate::support::held::GatedApp;
use crate::support::races::{race, repeat};
use crate::support::settings::figure;
use crate::support::shop::refund;
use crate::support::{Backend, TestApp, backends, races};

races!(decisions_while_a_person_is_demoted);
backends!(a_decision_waits_for_the_change_under_way, a_change_waits_for_the_decision_under_way);

async fn a_decision_waits_for_the_change_under_way(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let session = app.session(person).await;
    let books = app.books();
    let name = "demoted, disabled or signed out while a decision waits";
    repeat(name, app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action(&action).await;

        let (change, status) = CHANGES[round % CHANGES.len()];
        let decision = match round / CHANGES.len() % 4 {
            0 => person.approving(&seen).map(|reply| reply.status).boxed(),
            1 => person.rejecting(&seen).map(|reply| reply.status).boxed(),
            2 => session.approving(&seen).map(|page| page.status).boxed(),
            _ => session.rejecting(&seen).map(|page| page.status).boxed(),
        };
        assert_eq!(app.behind(change, decision).await, status);

        let mut rival = app.rival();
        assert_eq!(rival.count("actions", &format!("id = '{action}' AND status = 'pending'")), 1);
        let denied = format!("action_id = '{action}' AND category = 'decisions' AND denied");
        assert_eq!(rival.count("audit_events", &denied), 1);
        assert_eq!(app.order_now(&order).await.refunded_minor, 0);
        books.balance();
        rival.run(AS_BEFORE);
    })
    .await;
}

/// What may become of a person, and what their decision is told.
const CHANGES: [(&str, u16); 3] = [
    ("UPDATE people SET role = 'viewer'", 403),
    ("UPDATE people SET enabled = (1 = 0)", 401),
    (
        "UPDATE sessions SET ended_at = '2030-01-01 00:00:00';
         UPDATE credentials SET revoked_at = '2030-01-01 00:00:00'",
        401,
    ),
];
const AS_BEFORE: &str = "UPDATE people SET role = 'approver', enabled = (1 = 1);
     UPDATE sessions SET ended_at = NULL; UPDATE credentials SET revoked_at = NULL";

async fn a_change_waits_for_the_decision_under_way(GatedApp { app, gate }: &GatedApp) {
    let person = app.person(Role::Approver).await;
    let session = app.session(person).await;
    let books = app.books();
    let name = "decide, then be demoted, disabled, signed out, or lose the token";
    repeat(name, app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action(&action).await;
        let (auth, email, session) = (app.inner.auth.clone(), person.email.clone(), session.clone());
        let by_token = person.approving(&seen).map(|reply| reply.status.as_u16()).boxed();
        let by_session = session.approving(&seen).map(|page| page.status.as_u16()).boxed();

        let (decision, change) = match round % 4 {
            0 => (by_token, async move { drop(auth.set_role(&email, Role::Viewer).await.unwrap()) }.boxed()),
            1 => (by_token, async move { drop(auth.disable(&email).await.unwrap()) }.boxed()),
            2 => (by_session, async move { drop(session.submit("/logout", &[]).await) }.boxed()),
            _ => (by_token, revoking_tokens(app)),
        };
        gate.shut();
        let decision = tokio::spawn(decision);
        gate.until_reached().await;
        let change = tokio::spawn(change);
        if app.database.backend == Backend::Postgres {
            app.until_waiting(1).await;
        }
        gate.open();

        assert_eq!(decision.await.unwrap(), if round % 4 == 2 { 303 } else { 200 });
        change.await.unwrap();
        assert_eq!(app.order_now(&order).await.refunded_minor, 12_000);
        let mut rival = app.rival();
        if round % 4 < 3 {
            let last = rival.texts("SELECT category AS t FROM audit_events ORDER BY seq DESC LIMIT 2");
            let change = if round % 4 == 2 { "sign_ins" } else { "accounts" };
            assert_eq!(last, [change, "decisions"], "it happened after the decision");
        }
        books.balance();
        rival.run(AS_BEFORE);
    })
    .await;
}

/// Nothing else ends a token alone.
fn revoking_tokens(app: &TestApp) -> BoxFuture<'static, ()> {
    let mut rival = app.rival();
    let revoke = "UPDATE credentials SET revoked_at = '2030-01-01 00:00:00' WHERE person_id IS NOT NULL";
    async move { tokio::task::spawn_blocking(move || rival.run(revoke)).await.unwrap() }.boxed()
}

async fn decisions_while_a_person_is_demoted(app: &TestApp) {
    let (books, mut in_time) = (app.books(), 0);
    let owner = app.person(Role::Owner).await;
    let windows = owner.windows(CONTENDERS - 1);
    repeat("approve × demote", app.database.backend, ROUNDS, async |round| {
        let person = app.add_person(&format!("p{round}"), Role::Approver).await;
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action(&action).await;

        let (auth, email) = (app.inner.auth.clone(), person.email.clone());
        let demotion = async move {
            auth.set_role(&email, Role::Viewer).await.unwrap();
            None
        };
        let approvals = windows.iter().map(|window| {
            let approval = window.replaced_by(&person).approving(&seen);
            async { Some(approval.await) }.boxed()
        });
        let replies = race(approvals.chain([demotion.boxed()])).await;

        let approved = replies.iter().flatten().filter(|reply| reply.status == 200).count();
        let lost = replies.iter().flatten().filter(|reply| reply.status != 200);
        for reply in lost {
            assert!(["forbidden", "already_decided"].contains(&reply.code()), "{reply:?}");
        }
        let status = owner.action(&action).await["status"].clone();
        assert_eq!(status, if approved == 1 { "executed" } else { "pending" });
        assert_eq!(person.approve_as_seen(&seen).await.code(), "forbidden");
        books.balance();
        in_time += approved;
    })
    .await;
    figure(&format!("approve × demote, {}: {in_time} times in time", app.database.backend));
}
