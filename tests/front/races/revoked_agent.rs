//! An agent revoked, or its scope lost, between request and approval: not executed.

use countersign::store::people::Role;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{CONTENDERS, ROUNDS};
use crate::support::held::GatedApp;
use crate::support::person::Reply;
use crate::support::races::{race, repeat};
use crate::support::settings::figure;
use crate::support::shop::{id, refund};
use crate::support::{Agent, Person, TestApp, backends, races};

races!(approvals_while_the_agent_is_revoked);
backends!(
    a_revoked_agents_request_fails,
    a_request_beyond_the_scopes_fails,
    an_approval_waits_for_a_revocation_under_way,
    a_revocation_waits_for_the_approval_under_way,
    a_revocation_waits_for_the_request_under_way,
    a_call_waits_for_a_new_key_under_way
);

async fn a_revoked_agents_request_fails(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let (agent, seen) = asked(app, person, "Revoked").await;
    app.inner.auth.revoke("Revoked").await.unwrap();
    fails(person.approve_as_seen(&seen).await, "agent_revoked");
    let (status, _) = agent.post("{}".into()).await;
    assert_eq!(status, 401);
    assert_eq!(app.order_now("#Revoked").await.refunded_minor, 0);
    app.books().balance();
}

async fn a_request_beyond_the_scopes_fails(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let (_, seen) = asked(app, person, "Narrowed").await;
    let known = app.inner.gate.registry.scopes();
    app.inner.auth.set_scopes("Narrowed", &["orders:read".into()], &known).await.unwrap();
    fails(person.approve_as_seen(&seen).await, "scope_missing");
    assert_eq!(app.order_now("#Narrowed").await.refunded_minor, 0);
    app.books().balance();
}

async fn an_approval_waits_for_a_revocation_under_way(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let books = app.books();
    repeat("revoked while an approval waits", app.database.backend, ROUNDS, async |round| {
        let name = format!("{round}");
        let (_, seen) = asked(app, person, &name).await;
        let revoke = format!("UPDATE agents SET revoked_at = '2030-01-01 00:00:00' WHERE name = '{name}'");
        let reply = app.behind(&revoke, person.approving(&seen)).await;
        fails(reply, "agent_revoked");
        books.balance();
    })
    .await;
}

async fn a_revocation_waits_for_the_approval_under_way(GatedApp { app, gate }: &GatedApp) {
    let person = app.person(Role::Approver).await;
    let books = app.books();
    repeat("approve, then revoke or narrow", app.database.backend, ROUNDS, async |round| {
        let name = format!("{round}");
        let (_, seen) = asked(app, person, &name).await;

        gate.shut();
        let approval = tokio::spawn(person.approving(&seen));
        gate.until_reached().await;
        let ending = tokio::spawn(ending(app, &name, round));
        app.until_blocked(1, 1).await;
        gate.open();

        assert_eq!(approval.await.unwrap().ok()["status"], "executed");
        ending.await.unwrap();
        let last = app.rival().texts("SELECT category AS t FROM audit_events ORDER BY seq DESC LIMIT 2");
        assert_eq!(last, ["accounts", "decisions"], "it happened after the approval");
        books.balance();
    })
    .await;
}

async fn a_revocation_waits_for_the_request_under_way(GatedApp { app, gate }: &GatedApp) {
    let person = app.person(Role::Approver).await;
    repeat("request, then revoke or narrow", app.database.backend, ROUNDS, async |round| {
        let name = format!("{round}");
        let order = app.order(&format!("#{name}"), 50_000).await.name;
        let agent = app.add_agent(&name, &["orders:write"]).await;

        gate.shut();
        let request = tokio::spawn(agent.calling("request_refund", &refund(&order, 100)));
        gate.until_reached().await;
        let ending = tokio::spawn(ending(app, &name, round));
        app.until_blocked(1, 1).await;
        gate.open();

        let asked = request.await.unwrap().ok();
        ending.await.unwrap();
        let rule = if round % 2 == 0 { "agent_revoked" } else { "scope_missing" };
        fails(person.approve(id(&asked)).await, rule);
    })
    .await;
}

async fn a_call_waits_for_a_new_key_under_way(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    repeat("a new key while a call waits", app.database.backend, ROUNDS, async |round| {
        let name = format!("{round}");
        let (agent, seen) = asked(app, person, &name).await;
        let ending = format!(
            "UPDATE credentials SET revoked_at = '2030-01-01 00:00:00'
             WHERE agent_id = (SELECT id FROM agents WHERE name = '{name}')"
        );
        let call = match round % 3 {
            0 => agent.calling("withdraw_action", &json!({ "action_id": id(&seen) })),
            1 => agent.calling("request_refund", &refund(&name, 100)),
            _ => agent.calling("request_refund", &refund(&name, 200)),
        };
        let answer = app.behind(&ending, call).await;
        assert_eq!(answer.code(), "unauthenticated");
        assert_eq!(
            app.rival()
                .count("actions", &format!("slot_key IS NOT NULL AND summary LIKE '%#{name}%'")),
            1
        );
        assert_eq!(person.action(id(&seen)).await["status"], "pending");
        let last = app.rival().texts("SELECT outcome AS t FROM audit_events ORDER BY seq DESC LIMIT 1");
        assert_eq!(last, ["unauthenticated"], "it is in the log");
    })
    .await;
}

/// The agent is revoked, or loses the scope, every other time.
fn ending(app: &TestApp, name: &str, round: usize) -> BoxFuture<'static, ()> {
    let (auth, name, known) = (app.inner.auth.clone(), name.to_owned(), app.inner.gate.registry.scopes());
    async move {
        if round.is_multiple_of(2) {
            auth.revoke(&name).await.unwrap();
        } else {
            auth.set_scopes(&name, &[], &known).await.unwrap();
        }
    }
    .boxed()
}

async fn approvals_while_the_agent_is_revoked(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let windows = person.windows(CONTENDERS - 1);
    let (books, mut executed) = (app.books(), 0);
    repeat("approve × revoke", app.database.backend, ROUNDS, async |round| {
        let name = format!("{round}");
        let (_, seen) = asked(app, person, &name).await;

        let (auth, revoked) = (app.inner.auth.clone(), name.clone());
        let revocation = async move {
            auth.revoke(&revoked).await.unwrap();
            None
        };
        let approvals = windows.iter().map(|window| {
            let approval = window.approving(&seen);
            async { Some(approval.await) }.boxed()
        });
        let replies = race(approvals.chain([revocation.boxed()])).await;

        let won: Vec<_> = replies.into_iter().flatten().filter(|reply| reply.status == 200).collect();
        let [won]: [Reply; 1] = won.try_into().unwrap();
        let refunded = app.order_now(&format!("#{name}")).await.refunded_minor;
        if won.body["status"] == "executed" {
            assert_eq!(refunded, 100);
            executed += 1;
        } else {
            fails(won, "agent_revoked");
            assert_eq!(refunded, 0);
        }
        books.balance();
    })
    .await;
    figure(&format!("approve × revoke, {}: {executed} times in time", app.database.backend));
}

/// A new agent of that name, and a refund that it asked for on the order `#NAME`, as an approver sees it.
async fn asked(app: &TestApp, person: &Person, name: &str) -> (Agent, Value) {
    let order = app.order(&format!("#{name}"), 50_000).await.name;
    let agent = app.add_agent(name, &["orders:write"]).await;
    let asked = agent.call("request_refund", refund(&order, 100)).await.ok();
    (agent, person.action(id(&asked)).await)
}

#[track_caller]
fn fails(reply: Reply, rule: &str) {
    let action = reply.ok();
    assert_eq!((&action["status"], &action["refusal"]["rule"]), (&"failed".into(), &rule.into()));
}
