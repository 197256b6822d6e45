//! An audit event can't be written: no effect, the request is refused, nothing is half done.

use chrono::TimeDelta;
use countersign::error::{Error, Result};
use countersign::store::people::Role;
use countersign::workflow::PauseTarget;
use futures_util::FutureExt;
use serde_json::{Value, json};

use super::{CONTENDERS, ROUNDS};
use crate::support::races::{race, repeat};
use crate::support::run::{Fixture, Spread};
use crate::support::shop::refund;
use crate::support::{Backend, TestApp, backends, races};

races!(without_an_event_nothing_happens, without_an_event_nothing_expires);
backends!(without_an_event_nobody_is_let_in_or_changed);

/// Refuses nothing, and its buckets are there to be left as they were.
const RATE: &str = "60000/min:10000";

/// An application with that rate of writes.
struct Rated(TestApp);

impl Fixture for Rated {
    async fn set_up(backend: Backend) -> Self {
        Self(TestApp::with(backend, |config| config.write_rate = RATE.parse().unwrap()).await)
    }

    async fn tear_down(self) {
        self.0.tear_down().await;
    }
}

impl Spread for Rated {
    async fn spread(backend: Backend) -> Self {
        Self(TestApp::on_several_processes(backend, RATE).await)
    }
}

async fn without_an_event_nothing_happens(Rated(app): &Rated) {
    let person = app.person(Role::Approver).await;
    let (windows, processes) = (person.windows(CONTENDERS), app.agent.processes(CONTENDERS));
    let books = app.books();
    repeat("no event can be written", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action(&action).await;
        let before = app.rival().everything();

        break_the_log(app);
        let decisions = windows.iter().enumerate().map(|(number, window)| match number % 2 {
            0 => window.approving(&seen),
            _ => window.rejecting(&seen),
        });
        for reply in race(decisions).await {
            assert_eq!((reply.status.as_u16(), reply.code()), (500, "internal"));
            keeps_quiet(&reply.body);
        }
        let calls = processes.iter().enumerate().map(|(number, agent)| match number % 4 {
            0 => agent.calling("request_refund", &refund(&order, 12_000)),
            1 => agent.calling("request_refund", &refund(&order, 1)),
            2 => agent.calling("withdraw_action", &json!({ "action_id": action })),
            _ => agent.calling("get_order", &json!({ "order_id": order })),
        });
        for answer in race(calls).await {
            assert_eq!(answer.code(), "internal");
            keeps_quiet(&answer.body);
        }
        assert_eq!(app.rival().everything(), before);

        mend_the_log(app);
        let window = &windows[round % CONTENDERS];
        assert_eq!(window.approve_as_seen(&seen).await.ok()["status"], "executed");
        books.balance();
    })
    .await;
}

async fn without_an_event_nothing_expires(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let (windows, processes) = (person.windows(CONTENDERS / 2), app.agent.processes(CONTENDERS / 2));
    let books = app.books();
    repeat("no event of an expiry can be written", app.database.backend, ROUNDS, async |round| {
        // What nobody was told for a day, where no mail is sent, is forgotten at any moment.
        app.sql("DELETE FROM notices").await;
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action(&action).await;

        break_the_log(app);
        app.time().shift(TimeDelta::minutes(31));
        let before = app.rival().everything();
        let decisions = windows.iter().enumerate().map(|(number, window)| match number % 2 {
            0 => window.approving(&seen),
            _ => window.rejecting(&seen),
        });
        let calls = processes.iter().enumerate().map(|(number, agent)| match number % 3 {
            0 => agent.calling("request_refund", &refund(&order, 12_000)),
            1 => agent.calling("withdraw_action", &json!({ "action_id": action })),
            _ => agent.calling("get_action_status", &json!({ "action_id": action })),
        });
        let decisions = decisions.map(|reply| reply.map(|reply| reply.code().to_owned()).boxed());
        let calls = calls.map(|answer| answer.map(|answer| answer.code().to_owned()).boxed());
        let told = race(decisions.chain(calls)).await;
        assert!(told.iter().all(|code| code == "internal"), "{told:?}");
        is_internal(app.inner.gate.sweep().await);
        assert_eq!(app.rival().everything(), before);

        mend_the_log(app);
        assert_eq!(person.approve_as_seen(&seen).await.code(), "already_decided");
        assert_eq!(person.action(&action).await["status"], "expired");
        books.balance();
    })
    .await;
}

async fn without_an_event_nobody_is_let_in_or_changed(app: &TestApp) {
    let owner = app.session(app.person(Role::Owner).await).await;
    let (auth, known) = (&app.inner.auth, app.inner.gate.registry.scopes());
    repeat("no event of an account can be written", app.database.backend, ROUNDS, async |round| {
        let person = app.add_person(&format!("p{round}"), Role::Approver).await;
        let agent = app.add_agent(&format!("a{round}"), &["orders:read"]).await;
        break_the_log(app);
        let before = app.rival().everything();

        is_internal(auth.set_role(&person.email, Role::Viewer).await);
        is_internal(auth.disable(&person.email).await);
        is_internal(auth.add_agent("another", &[], None, &known).await);
        is_internal(auth.set_scopes(&agent.name, &[], &known).await);
        is_internal(auth.rotate(&agent.name).await);
        is_internal(auth.revoke(&agent.name).await);
        is_internal(app.inner.gate.set_pause_as_operator(PauseTarget::Everything, true).await);
        for (path, fields) in [("/pause", vec![("target", "all")]), ("/logout", vec![])] {
            let page = owner.submit(path, &fields).await;
            assert_eq!(page.status, 500, "{path}");
            keeps_quiet(&page.html.into());
        }
        // Signing in, and what hashes a password, more seldom: there is a limit on the one, and the other is slow.
        if round % 4 == 0 {
            assert_eq!(app.sign_in(&person).await.status(), 500);
            is_internal(auth.add_person("nobody@example.com", Role::Viewer).await);
            is_internal(auth.reset_password(&person.email).await);
        }
        assert_eq!(app.rival().everything(), before);

        mend_the_log(app);
        assert_eq!(owner.get("/").await.status, 200, "nor is anybody signed out");
        auth.disable(&person.email).await.unwrap();
        auth.revoke(&agent.name).await.unwrap();
    })
    .await;
}

#[track_caller]
fn is_internal<T>(outcome: Result<T>) {
    assert!(matches!(outcome, Err(Error::Internal(_))), "{:?}", outcome.err());
}

/// What the log says when it refuses must not be told to anybody.
#[track_caller]
fn keeps_quiet(answer: &Value) {
    let text = answer.to_string();
    assert!(!text.contains("no more paper") && !text.contains("audit_events"), "{text}");
}

fn break_the_log(app: &TestApp) {
    app.rival().run(app.database.backend.break_the_log());
}

fn mend_the_log(app: &TestApp) {
    app.rival().run(app.database.backend.mend_the_log());
}
