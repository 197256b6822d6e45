//! A pause that an owner was told of is held: whoever was under way before it has ended, and nobody comes after it.

use countersign::store::people::Role;
use countersign::workflow::PauseTarget;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{CONTENDERS, ROUNDS};
use crate::support::held::GatedApp;
use crate::support::races::{race, repeat};
use crate::support::session::Session;
use crate::support::settings::figure;
use crate::support::shop::refund;
use crate::support::{Backend, TestApp, backends, races};

backends!(
    a_pause_waits_for_the_claim_under_way,
    a_pause_waits_for_the_request_under_way,
    who_comes_during_a_pause_waits_for_it
);
races!(pauses_beside_claims_and_requests);

async fn a_pause_waits_for_the_claim_under_way(gated: &GatedApp) {
    let app = &gated.app;
    let approver = app.person(Role::Approver).await;
    let owner = app.session(app.person(Role::Owner).await).await;
    let books = app.books();
    repeat("approve, then pause", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = approver.action(&action).await;

        gated.gate.shut();
        let approval = tokio::spawn(approver.approving(&seen));
        gated.gate.until_reached().await;
        let pause = tokio::spawn(pausing(&owner));
        app.until_blocked(1, 1).await;
        gated.gate.open();

        assert_eq!(approval.await.unwrap().ok()["status"], "executed");
        assert_eq!(pause.await.unwrap(), "303");
        nothing_is_later(app);
        resume(app).await;
        books.balance();
    })
    .await;
}

async fn a_pause_waits_for_the_request_under_way(gated: &GatedApp) {
    let app = &gated.app;
    let owner = app.session(app.person(Role::Owner).await).await;
    repeat("request, then pause", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;

        gated.gate.shut();
        let request = tokio::spawn(app.agent.calling("request_refund", &refund(&order, 12_000)));
        gated.gate.until_reached().await;
        let pause = tokio::spawn(pausing(&owner));
        app.until_blocked(1, 1).await;
        gated.gate.open();

        assert_eq!(request.await.unwrap().ok()["disposition"], "new");
        assert_eq!(pause.await.unwrap(), "303");
        nothing_is_later(app);
        resume(app).await;
    })
    .await;
}

async fn who_comes_during_a_pause_waits_for_it(app: &TestApp) {
    let approver = app.person(Role::Approver).await;
    let owner = app.session(app.person(Role::Owner).await).await;
    // Where many may write at once, the pause is stopped at its commit.
    let lock = match app.database.backend {
        Backend::Sqlite => "UPDATE orders SET version = version",
        Backend::Postgres => "UPDATE turnstile SET one = one",
    };
    if app.database.backend == Backend::Postgres {
        app.rival().block_commits();
    }
    let books = app.books();
    repeat("pause, then approve and request", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = approver.action(&action).await;

        let approval = approver.approving(&seen).map(|reply| reply.code().to_owned());
        let request = app.agent.calling("request_refund", &refund(&order, 1));
        let request = request.map(|answer| answer.code().to_owned());
        let told = app.in_order(lock, [pausing(&owner), approval.boxed(), request.boxed()]).await;

        assert_eq!(told, ["303", "paused", "paused"]);
        assert_eq!(app.order_now(&order).await.refunded_minor, 0);
        resume(app).await;
        books.balance();
    })
    .await;
}

async fn pauses_beside_claims_and_requests(app: &TestApp) {
    let approver = app.person(Role::Approver).await;
    let windows = approver.windows(CONTENDERS / 2);
    let processes = app.agent.processes(CONTENDERS / 2);
    let owner = app.session(app.person(Role::Owner).await).await;
    let (books, mut before) = (app.books(), 0);
    repeat("pause × approve × request", app.database.backend, ROUNDS, async |round| {
        let mut contenders = Vec::new();
        for (number, (window, process)) in windows.iter().zip(&processes).enumerate() {
            let order = app.order(&format!("#{round}.{number}"), 50_000).await.name;
            let action = app.ask("request_refund", refund(&order, 12_000)).await;
            let approval = window.approving(&window.action(&action).await);
            contenders
                .push(approval.map(|reply| outcome(reply.status == 200, || reply.code().into())).boxed());
            let request = process.calling("request_refund", &refund(&order, 1));
            contenders.push(request.map(|answer| outcome(!answer.is_error, || answer.code().into())).boxed());
        }
        contenders.insert(round % CONTENDERS, pausing(&owner));

        let told = race(contenders).await;

        assert!(told.iter().all(|told| ["303", "done", "paused"].contains(&told.as_str())), "{told:?}");
        nothing_is_later(app);
        resume(app).await;
        books.balance();
        before += told.iter().filter(|told| *told == "done").count();
    })
    .await;
    figure(&format!("pause × approve × request, {}: {before} done before it", app.database.backend));
}

fn outcome(done: bool, code: impl FnOnce() -> String) -> String {
    if done { "done".to_owned() } else { code() }
}

/// The owner's click, still to be made. Answers the status.
fn pausing(owner: &Session) -> BoxFuture<'static, String> {
    let owner = owner.clone();
    async move { owner.submit("/pause", &[("target", "all")]).await.status.as_str().to_owned() }.boxed()
}

async fn resume(app: &TestApp) {
    assert!(app.inner.gate.set_pause_as_operator(PauseTarget::Everything, false).await.unwrap());
}

/// Nothing was asked for or executed after the pause in force.
#[track_caller]
fn nothing_is_later(app: &TestApp) {
    let late = "(SELECT paused_at FROM pauses) < requested_at OR (SELECT paused_at FROM pauses) < decided_at";
    assert_eq!(app.rival().count("actions", late), 0);
    assert_eq!(app.rival().count("pauses", "target = 'all'"), 1);
}
