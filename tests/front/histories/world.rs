//! A shop, its agents and its people, and one history after the other.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use chrono::TimeDelta;
use countersign::store::people::Role;
use countersign::workflow::PauseTarget;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use serde_json::{Value, json};

use crate::support::books::Books;
use crate::support::random::Random;
use crate::support::run::Fixture;
use crate::support::shop::{adjustment, cancellation, id, refund, with_key};
use crate::support::{Agent, Person, TestApp};

const SKUS: [&str; 2] = ["SKU-1", "SKU-2"];
/// What a request may be refused with, whatever the history.
const REFUSALS: &[&str] = &["rule_refused", "paused", "idempotency_key_reused", "scope_missing"];
/// What a decision may be refused with.
const OBJECTIONS: &[&str] = &["already_decided", "paused", "related_actions", "subject_changed"];

pub struct World {
    app: Arc<TestApp>,
    books: Books,
    agents: [Agent; 2],
    person: Person,
    /// This history's orders, by their public ids.
    orders: Vec<String>,
    /// This history's actions as they were first seen, each with the agent that asked.
    actions: Vec<(Value, usize)>,
    /// Each ending that somebody was told of.
    told: BTreeMap<String, String>,
}

/// How many actions ended in which way.
#[derive(Default)]
pub struct Tally(BTreeMap<String, usize>);

/// What an operation taught: an action, and the agent whose it is.
type Learnt = Option<(Value, usize)>;

impl World {
    pub async fn new(app: TestApp) -> Self {
        for sku in SKUS {
            app.product(sku, 5).await;
        }
        let other = app.add_agent("another", &["orders:write", "inventory:write"]).await;
        Self {
            books: app.books(),
            agents: [app.agent.clone(), other],
            person: app.person(Role::Approver).await.clone(),
            orders: Vec::new(),
            actions: Vec::new(),
            told: BTreeMap::new(),
            app: Arc::new(app),
        }
    }

    pub async fn close(self) {
        let Self {
            app, agents, person, ..
        } = self;
        drop((agents, person));
        Arc::into_inner(app).unwrap().tear_down().await;
    }

    /// Two orders nobody has asked anything of.
    pub async fn begin(&mut self, number: usize, random: &mut Random) {
        (self.orders, self.actions) = (Vec::new(), Vec::new());
        for one in ["a", "b"] {
            let total = random.between(1, 1_000);
            self.orders.push(self.app.order(&format!("#{number}{one}"), total).await.name);
        }
    }

    /// One operation, or a few at once.
    pub async fn step(&mut self, random: &mut Random) {
        let count = if random.once_in(3) { random.between(2, 4) } else { 1 };
        let operations: Vec<_> = (0..count).map(|_| self.operation(random)).collect();
        for learnt in join_all(operations.into_iter().map(tokio::spawn)).await {
            let Some((action, agent)) =
                learnt.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
            else {
                continue;
            };
            if action["status"] != "pending" {
                self.told.insert(id(&action).to_owned(), action["status"].as_str().unwrap().to_owned());
            }
            if self.actions.iter().all(|(known, _)| id(known) != id(&action)) {
                self.actions.push((self.person.action(id(&action)).await, agent));
            }
        }
    }

    /// Nothing is paused any more, and everything that was said is true.
    pub async fn end(&mut self, tally: &mut Tally) {
        self.app.rival().run("DELETE FROM pauses");
        self.set_scopes(true).await;
        self.books.balance();
        let mut statuses = BTreeMap::new();
        for (action, _) in &self.actions {
            let now = self.person.action(id(action)).await;
            *tally.0.entry(now["status"].as_str().unwrap().to_owned()).or_default() += 1;
            statuses.insert(id(action).to_owned(), now["status"].as_str().unwrap().to_owned());
        }
        for (action, status) in std::mem::take(&mut self.told) {
            assert_eq!(statuses[&action], status, "{action} was said to be {status}");
        }
    }

    fn operation(&mut self, random: &mut Random) -> BoxFuture<'static, Learnt> {
        match random.below(20) {
            0..7 => self.request(random),
            7..12 => self.decision(random, true),
            12 => self.decision(random, false),
            13 => self.withdrawal(random),
            14 => self.time(random),
            15 => self.pause(random),
            16..18 => self.edit(random),
            18 => self.recount(random),
            _ => self.change_of_scopes(random),
        }
    }

    fn request(&self, random: &mut Random) -> BoxFuture<'static, Learnt> {
        let order = random.choose(&self.orders).unwrap();
        let (tool, mut arguments) = match random.below(5) {
            0..3 => ("request_refund", refund(order, random.between(1, 600))),
            3 => ("request_order_cancellation", cancellation(order)),
            _ => {
                let delta = random.choose(&[-3, -2, -1, 1, 2]).unwrap();
                ("request_stock_adjustment", adjustment(random.choose(&SKUS).unwrap(), *delta))
            }
        };
        if random.once_in(3) {
            arguments = with_key(arguments, format!("{order} {}", random.below(3)));
        }
        let number = usize::from(random.once_in(3));
        let call = self.agents[number].calling(tool, &arguments);
        async move {
            let answer = call.await;
            if answer.is_error {
                assert!(REFUSALS.contains(&answer.code()), "{:?}", answer.body);
                return None;
            }
            Some((answer.body, number))
        }
        .boxed()
    }

    /// On what was seen when the action was new, or on what is seen now; with or without the versions of its records.
    fn decision(&self, random: &mut Random, approve: bool) -> BoxFuture<'static, Learnt> {
        let Some((seen, agent)) = random.choose(&self.actions).cloned() else {
            return self.request(random);
        };
        let (person, look, versions) = (self.person.clone(), random.once_in(2), random.once_in(2));
        async move {
            let mut seen = if look { person.action(id(&seen)).await } else { seen };
            if !versions {
                seen.as_object_mut().unwrap().remove("subject_versions");
            }
            let decision = if approve { person.approving(&seen) } else { person.rejecting(&seen) };
            let reply = decision.await;
            if reply.status == 200 {
                return Some((reply.body, agent));
            }
            assert!(OBJECTIONS.contains(&reply.code()), "{reply:?}");
            None
        }
        .boxed()
    }

    fn withdrawal(&self, random: &mut Random) -> BoxFuture<'static, Learnt> {
        let Some((action, agent)) = random.choose(&self.actions) else {
            return self.request(random);
        };
        let agent = *agent;
        let call = self.agents[agent].calling("withdraw_action", &json!({ "action_id": id(action) }));
        async move { Some((call.await.ok(), agent)) }.boxed()
    }

    /// Time goes by, and perhaps the sweeper comes round.
    fn time(&self, random: &mut Random) -> BoxFuture<'static, Learnt> {
        let (app, minutes, sweep) = (self.app.inner.clone(), random.between(1, 20), random.once_in(2));
        async move {
            app.clock.shift(TimeDelta::minutes(minutes));
            if sweep {
                app.gate.sweep().await.unwrap();
            }
            None
        }
        .boxed()
    }

    fn pause(&self, random: &mut Random) -> BoxFuture<'static, Learnt> {
        let target = match random.below(3) {
            0 => PauseTarget::Everything,
            _ => PauseTarget::Kind("refund".into()),
        };
        let (gate, on) = (self.app.inner.gate.clone(), random.once_in(3));
        async move {
            gate.set_pause_as_operator(target, on).await.unwrap();
            None
        }
        .boxed()
    }

    /// Somebody in the shop changes an order.
    fn edit(&self, random: &mut Random) -> BoxFuture<'static, Learnt> {
        let change = match random.below(4) {
            0 => format!("total_minor = refunded_minor + {}", random.between(0, 500)),
            1 => format!("fulfillment_status = '{}'", random.choose(&["unfulfilled", "fulfilled"]).unwrap()),
            _ => format!("financial_status = '{}'", random.choose(&["paid", "paid", "voided"]).unwrap()),
        };
        let order = random.choose(&self.orders).unwrap();
        self.sql(format!("UPDATE orders SET {change}, version = version + 1 WHERE name = '{order}'"))
    }

    /// Somebody counts the shelves, and finds more.
    fn recount(&mut self, random: &mut Random) -> BoxFuture<'static, Learnt> {
        let (sku, more) = (random.choose(&SKUS).unwrap(), random.between(0, 3));
        self.books.recount(sku, more);
        self.sql(format!(
            "UPDATE products SET stock = stock + {more}, version = version + 1 WHERE sku = '{sku}'"
        ))
    }

    fn sql(&self, statement: String) -> BoxFuture<'static, Learnt> {
        let mut rival = self.app.rival();
        let run = tokio::task::spawn_blocking(move || rival.run(&statement));
        run.map(|ran| ran.map(|()| None).unwrap()).boxed()
    }

    fn change_of_scopes(&self, random: &mut Random) -> BoxFuture<'static, Learnt> {
        let (app, writes) = (self.app.clone(), !random.once_in(3));
        async move {
            set_scopes(&app, writes).await;
            None
        }
        .boxed()
    }

    async fn set_scopes(&self, writes: bool) {
        set_scopes(&self.app, writes).await;
    }
}

/// The other agent may write, or only read.
async fn set_scopes(app: &TestApp, writes: bool) {
    let scopes: &[&str] = if writes { &["orders:write", "inventory:write"] } else { &["orders:read"] };
    let scopes: Vec<String> = scopes.iter().map(ToString::to_string).collect();
    let known = app.inner.gate.registry.scopes();
    app.inner.auth.set_scopes("another", &scopes, &known).await.unwrap();
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.0.iter().map(|(status, count)| format!("{count} {status}"));
        f.write_str(&counts.collect::<Vec<_>>().join(", "))
    }
}
