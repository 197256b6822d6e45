//! The other processes of a race: a second server, and a program that speaks MCP over its standard input and output. Both are
//! the built program on the application's database, with its clock.

use std::sync::{Arc, Mutex};

use chrono::TimeDelta;
use countersign::db::Clock;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::agent::Answer;
use super::app::SECRET;
use super::failpoints::Failpoints;
use super::program::{Program, Served};
use super::{Client, Database, Era, TestApp};

/// The two programs.
pub struct Elsewhere {
    /// Where the second server is.
    pub url: String,
    settings: Vec<(String, String)>,
    /// Its clock is both programs'.
    pub failpoints: Failpoints,
    /// How far that is ahead, in microseconds.
    ahead: Mutex<i64>,
    _server: (Program, Served),
}

impl Elsewhere {
    /// Starts the server. The other program is started once for each agent that calls through it.
    pub fn on(database: &Database, settings: &[(&str, &str)]) -> Arc<Self> {
        let failpoints = Failpoints::new();
        let common = [
            ("DATABASE_URL", database.url.as_str()),
            ("COUNTERSIGN_SECRET", SECRET),
            ("FAILPOINTS", failpoints.folder()),
        ];
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let settings: Vec<_> = common.into_iter().chain(settings.iter().copied()).map(owned).collect();
        let program = program(&settings).with("COUNTERSIGN_LISTEN", "127.0.0.1:0");
        let server = program.serve(&["serve"]);
        Arc::new(Self {
            url: server.url.clone(),
            settings,
            failpoints,
            ahead: Mutex::default(),
            _server: (program, server),
        })
    }

    /// The program that speaks MCP over its standard input and output, for one agent.
    pub fn stdio(&self, key: &str) -> Stdio {
        let program = program(&self.settings).with("COUNTERSIGN_AGENT_KEY", key);
        Stdio(Arc::new((program, OnceCell::new())))
    }

    /// Lets time go by in the two programs alone.
    pub fn shift(&self, by: TimeDelta) {
        let mut ahead = self.ahead.lock().unwrap();
        *ahead += by.num_microseconds().unwrap();
        self.failpoints.set_clock(*ahead);
    }
}

fn program(settings: &[(String, String)]) -> Program {
    settings.iter().fold(Program::bare(), |program, (name, value)| program.with(name, value))
}

/// A program that is started by the first call.
#[derive(Clone)]
pub struct Stdio(Arc<(Program, OnceCell<Client>)>);

impl Stdio {
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        let (program, client) = &*self.0;
        let start = || Client::over_stdio(program.command(&["mcp"]).into(), Era::Handshake("2025-11-25"));
        client.get_or_init(start).await.call(tool, arguments).await
    }
}

/// The clock of every process on a database.
#[derive(Clone)]
pub struct Time {
    clock: Clock,
    elsewhere: Option<Arc<Elsewhere>>,
}

impl Time {
    /// Lets so much time go by.
    pub fn shift(&self, by: TimeDelta) {
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.shift(by);
        }
        self.clock.shift(by);
    }
}

impl TestApp {
    /// The time in all processes of this test.
    pub fn time(&self) -> Time {
        Time {
            clock: self.inner.clock.clone(),
            elsewhere: self.elsewhere.clone(),
        }
    }
}
