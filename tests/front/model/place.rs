//! Two processes on one database, of which one is killed now and then.

use std::collections::BTreeMap;
use std::time::Duration;

use countersign::store::people::Role;
use countersign::workflow::PauseTarget;
use serde_json::Value;

use super::machine::{Key, Name, Status, Write};
use crate::support::books::Books;
use crate::support::program::{Program, Served};
use crate::support::rival::Rival;
use crate::support::run::Fixture;
use crate::support::{Agent, Backend, Person, TestApp};

pub const AGENTS: [&str; 2] = ["assistant", "another"];

pub struct Place {
    pub app: TestApp,
    /// Opened by each history once its product is there.
    pub books: Option<Books>,
    rival: Rival,
    program: Program,
    served: Option<Served>,
    /// Everybody who calls, by process: the one of the tests, and the one that is killed.
    callers: [Callers; 2],
}

#[derive(Clone)]
pub struct Callers {
    pub agents: [Agent; 2],
    pub person: Person,
}

/// What is stored of one history.
#[derive(Debug, PartialEq, Eq)]
pub struct Stored {
    pub actions: BTreeMap<Name, Status>,
    pub refunded: i64,
    pub cancelled: bool,
    pub stock: i64,
}

impl Place {
    pub async fn open(backend: Backend) -> Self {
        let app = TestApp::set_up(backend).await;
        app.product("SKU-1", 0).await;
        let another = app.add_agent(AGENTS[1], &["orders:write", "inventory:write"]).await;
        let program = Program::on(&app.database)
            .with("COUNTERSIGN_LISTEN", "127.0.0.1:0")
            .with("COUNTERSIGN_READ_RATE", "off")
            .with("COUNTERSIGN_WRITE_RATE", "off");
        let served = program.serve(&["serve"]);
        let here = Callers {
            agents: [app.agent.clone(), another],
            person: app.person(Role::Approver).await.clone(),
        };
        Self {
            callers: [here.clone(), here.at(&served.url)],
            served: Some(served),
            books: None,
            rival: app.rival(),
            program,
            app,
        }
    }

    pub async fn close(self) {
        let Self {
            app,
            served,
            callers,
            rival,
            ..
        } = self;
        drop((callers, served, rival));
        app.tear_down().await;
    }

    /// Whoever calls the process of that number.
    pub fn callers(&self, process: usize) -> &Callers {
        &self.callers[process]
    }

    /// Kills the other process after a while, and starts it anew once nothing of it is left in the database.
    pub async fn kill(&mut self, after: Duration) {
        tokio::time::sleep(after).await;
        self.served.take().unwrap().stop("KILL");
        // What it sent may still be on its way to a commit; whoever locks what it locks waits for that.
        for table in ["agents", "people", "actions"] {
            self.rival.run(&format!("UPDATE {table} SET lock_no = lock_no"));
        }
        let served = self.program.serve(&["serve"]);
        self.callers[1] = self.callers[0].at(&served.url);
        self.served = Some(served);
    }

    /// Time goes by: everything that happened is longer ago, for whichever process.
    pub fn pass(&mut self, minutes: i64) {
        let earlier = |column| match self.app.database.backend {
            Backend::Sqlite => format!(
                "{column} = strftime('%Y-%m-%d %H:%M:%S', substr({column}, 1, 19), '-{minutes} minutes') || substr({column}, 20)"
            ),
            Backend::Postgres => format!("{column} = {column} - interval '{minutes} minutes'"),
        };
        let columns = ["requested_at", "expires_at", "decided_at"].map(earlier).join(", ");
        self.rival.run(&format!("UPDATE actions SET {columns}"));
    }

    pub async fn pause(&self, on: bool) {
        self.app.inner.gate.set_pause_as_operator(PauseTarget::Everything, on).await.unwrap();
    }

    /// What is stored of the history of that number, and the id of each of its actions.
    pub async fn stored(&mut self, number: usize) -> (Stored, BTreeMap<Name, String>) {
        let (order, sku) = (order(number), sku(number));
        let rows = self.rival.texts(&format!(
            "SELECT g.name || '|' || a.slot_key || '|' || attempt || '|' || status || '|' || a.id || '|' || requested_params AS t
             FROM actions a JOIN agents g ON g.id = a.agent_id
             WHERE requested_params LIKE '%\"{order}\"%' OR requested_params LIKE '%\"{sku}\"%'"
        ));
        let (mut actions, mut ids) = (BTreeMap::new(), BTreeMap::new());
        for row in rows {
            let parts: Vec<_> = row.splitn(6, '|').collect();
            let agent = AGENTS.iter().position(|name| *name == parts[0]).unwrap();
            let key = match parts[1].strip_prefix("e:") {
                Some(text) => Key::Explicit(text.rsplit_once(' ').unwrap().1.parse().unwrap()),
                None => Key::Derived(write(&serde_json::from_str(parts[5]).unwrap())),
            };
            let name = ((agent, key), parts[2].parse().unwrap());
            actions.insert(name, Status::of(parts[3]));
            ids.insert(name, parts[4].to_owned());
        }
        let order = self.app.order_now(&order).await;
        let stored = Stored {
            actions,
            refunded: order.refunded_minor,
            cancelled: order.cancelled_at.is_some(),
            stock: self.app.stock_now(&sku).await,
        };
        (stored, ids)
    }

    /// The events of an action that are no denials: what happened, and what came of it.
    pub fn events(&mut self, action: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for event in self.rival.texts(&format!(
            "SELECT event || ' ' || outcome AS t FROM audit_events WHERE action_id = '{action}' AND NOT denied"
        )) {
            *counts.entry(event).or_default() += 1;
        }
        counts
    }
}

impl Callers {
    fn at(&self, url: &str) -> Self {
        Self {
            agents: self.agents.each_ref().map(|agent| agent.at(url)),
            person: self.person.at(url),
        }
    }
}

/// A history's order.
pub fn order(number: usize) -> String {
    format!("#{number}")
}

/// A history's product.
pub fn sku(number: usize) -> String {
    format!("S-{number}")
}

fn write(params: &Value) -> Write {
    match (params["amount_minor"].as_i64(), params["delta"].as_i64()) {
        (Some(amount), _) => Write::Refund(amount),
        (_, Some(delta)) => Write::Adjustment(delta),
        _ => Write::Cancellation,
    }
}
