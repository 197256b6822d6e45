//! A gateway on a database of its own, with three tools to test transports by.

use std::{sync::Arc, time::Duration};

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    auth::{Auth, Secret},
    config::Rate,
    db::{Clock, Conn, Db, QueryResult},
    error::Denial,
    gateway::{AgentLimits, Gateway},
    kinds::{About, Read, Registry},
    workflow::{Gate, Policy, RetryWindows, Waiters},
};

/// A gateway and the key of an agent that may call all three tools.
pub struct Trial {
    pub gateway: Gateway,
    pub key: String,
    _folder: TempDir,
}

impl Trial {
    /// On a fresh database.
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let auth = auth(&format!("sqlite://{}/test.db", folder.path().display()));
        auth.db.migrate().await.expect("migrations");
        let agent = auth.add_agent("tester", &["test:read".to_owned()], None, &["test:read"]).await;
        Self {
            gateway: gateway(auth),
            key: agent.expect("an agent").key,
            _folder: folder,
        }
    }
}

/// A gateway whose database is away. It takes five seconds to say so.
pub fn away() -> Gateway {
    gateway(auth("postgres://nobody@127.0.0.1:1/nothing"))
}

fn auth(url: &str) -> Auth {
    Auth {
        db: Db::open(&url.parse().expect("a URL")).expect("pools"),
        clock: Clock::default(),
        secret: Secret::new("0f1e2d3c4b5a69788796a5b4c3d2e1f0").expect("long enough"),
        failures: Arc::default(),
        limits: Arc::default(),
    }
}

fn gateway(auth: Auth) -> Gateway {
    let gate = Gate {
        db: auth.db.clone(),
        clock: auth.clock.clone(),
        registry: Registry::default().read(Echo).read(Slow).read(Broken),
        policy: Policy {
            action_ttl: TimeDelta::minutes(30),
            retry_windows: RetryWindows::default(),
            write_limit: None,
            public_url: "https://gate.example.com".to_owned(),
        },
        waiters: Waiters::default(),
        observe: Arc::new(|_| {}),
    };
    Gateway::new(gate, auth, AgentLimits::new(Rate::Off, Rate::Off), Arc::new(|_, _, _| {}))
}

/// A tool call, as a client of 2025 sends it.
pub fn call(id: u64, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

/// A request, as a client of 2026 sends it.
pub fn modern(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Answers what it was asked.
struct Echo;

#[derive(Deserialize, Serialize, JsonSchema)]
struct Said {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Read for Echo {
    const NAME: &'static str = "echo";
    const SCOPE: &'static str = "test:read";
    const TITLE: &'static str = "Echo";
    const DESCRIPTION: &'static str = "Answers what it was asked.";
    type Arguments = Said;
    type Answer = Said;

    fn read(&self, _: &mut Conn, said: Said) -> QueryResult<Result<About<Said>, Denial>> {
        Ok(Ok(About {
            answer: said,
            subject: None,
        }))
    }
}

/// Takes its time.
struct Slow;

#[derive(Deserialize, JsonSchema)]
struct Pause {
    millis: u32,
}

impl Read for Slow {
    const NAME: &'static str = "slow";
    const SCOPE: &'static str = "test:read";
    const TITLE: &'static str = "Slow";
    const DESCRIPTION: &'static str = "Answers after a while.";
    type Arguments = Pause;
    type Answer = Said;

    fn read(&self, _: &mut Conn, pause: Pause) -> QueryResult<Result<About<Said>, Denial>> {
        std::thread::sleep(Duration::from_millis(pause.millis.into()));
        Ok(Ok(About {
            answer: Said { text: None },
            subject: None,
        }))
    }
}

/// Has a defect.
struct Broken;

impl Read for Broken {
    const NAME: &'static str = "broken";
    const SCOPE: &'static str = "test:read";
    const TITLE: &'static str = "Broken";
    const DESCRIPTION: &'static str = "Panics.";
    type Arguments = Said;
    type Answer = Said;

    fn read(&self, _: &mut Conn, _: Said) -> QueryResult<Result<About<Said>, Denial>> {
        panic!("a defect for a test")
    }
}
