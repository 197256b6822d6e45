//! The append-only log. An event commits with what it describes; if it can't be written, the thing doesn't happen.
//!
//! Events hold ids, digests and amounts. Reasons, params and e-mail addresses stay in rows that retention can prune.

pub mod export;
pub mod log;

use chrono::{SubsecRound, Timelike};
use serde_json::{Map, Value, json};

use crate::{
    db::{Conn, QueryResult, Timestamp, text_enum},
    error::Code,
    kinds::canonical::canonical,
    store::{
        events::{self, NewEvent},
        floods, new_id,
    },
};

text_enum! {
    /// The way in.
    pub enum Door {
        Http = "mcp_http",
        Stdio = "mcp_stdio",
        Browser = "browser",
        Rest = "rest",
        Cli = "command_line",
        /// The process itself.
        Internal = "internal",
    }
}

/// From where somebody acted.
#[derive(Debug, Clone)]
pub struct Source {
    pub door: Door,
    /// The client's address, where there is one.
    pub address: Option<String>,
}

impl Source {
    /// The process itself, without a client.
    pub const INTERNAL: Self = Self {
        door: Door::Internal,
        address: None,
    };
    /// Somebody at the command line of the server.
    pub const CLI: Self = Self {
        door: Door::Cli,
        address: None,
    };
}

/// Who acted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    Agent(String),
    Person(String),
    /// Nobody that could be authenticated.
    Stranger,
    /// The operator at the command line, or the process itself.
    System,
}

text_enum! {
    /// What happened.
    pub enum What {
        ToolCall = "tool_call",
        /// Tool calls denied in a flood, counted.
        Denials = "denials",
        Approval = "approval",
        Rejection = "rejection",
        Expiry = "expiry",
        SignIn = "sign_in",
        SignOut = "sign_out",
        Account = "account",
        Pause = "pause",
        Resume = "resume",
        /// Old payloads were dropped.
        Prune = "prune",
    }
}

impl What {
    /// The group by which people filter the log.
    pub fn category(self) -> &'static str {
        match self {
            Self::ToolCall | Self::Denials => "tools",
            Self::Approval | Self::Rejection | Self::Expiry => "decisions",
            Self::SignIn | Self::SignOut => "sign_ins",
            Self::Account => "accounts",
            Self::Pause | Self::Resume => "pauses",
            Self::Prune => "upkeep",
        }
    }
}

/// The values of [`What::category`].
pub const CATEGORIES: [&str; 6] = ["tools", "decisions", "sign_ins", "accounts", "pauses", "upkeep"];

/// One line of the log, before it is written.
#[derive(Debug, Clone)]
pub struct Entry {
    what: What,
    actor: Actor,
    source: Source,
    action_id: Option<String>,
    subject: Option<String>,
    outcome: String,
    denied: bool,
    detail: Map<String, Value>,
}

impl Entry {
    /// An event with its outcome: a status, a code, or a word.
    pub fn new(what: What, actor: Actor, source: &Source, outcome: impl Into<String>) -> Self {
        Self {
            what,
            actor,
            source: source.clone(),
            action_id: None,
            subject: None,
            outcome: outcome.into(),
            denied: false,
            detail: Map::new(),
        }
    }

    /// An event of something that was refused with `code`.
    pub fn denied(what: What, actor: Actor, source: &Source, code: Code) -> Self {
        Self {
            denied: true,
            ..Self::new(what, actor, source, code.as_str())
        }
    }

    /// The action it is about.
    #[must_use]
    pub fn action(mut self, id: impl Into<String>) -> Self {
        self.action_id = Some(id.into());
        self
    }

    /// The record it is about ("order:#1044").
    #[must_use]
    pub fn subject(mut self, subject: Option<String>) -> Self {
        self.subject = subject;
        self
    }

    /// A detail: an id, a digest, an amount, a name this program gave.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.detail.insert(name.to_owned(), value.into());
        self
    }

    fn row(&self, id: &str, at: Timestamp) -> NewEvent {
        let (actor_kind, actor_id) = match &self.actor {
            Actor::Agent(id) => ("agent", Some(id.clone())),
            Actor::Person(id) => ("person", Some(id.clone())),
            Actor::Stranger => ("stranger", None),
            Actor::System => ("system", None),
        };
        let mut body = self.detail.clone();
        body.insert("id".to_owned(), json!(id));
        body.insert(
            "at".to_owned(),
            json!(at.and_utc().to_rfc3339_opts(chrono::SecondsFormat::Micros, true)),
        );
        body.insert("event".to_owned(), json!(self.what.as_str()));
        body.insert(
            "actor".to_owned(),
            actor_id
                .as_ref()
                .map_or_else(|| json!({"kind": actor_kind}), |id| json!({"kind": actor_kind, "id": id})),
        );
        body.insert("door".to_owned(), json!(self.source.door.as_str()));
        body.insert("outcome".to_owned(), json!(self.outcome));
        body.insert("denied".to_owned(), json!(self.denied));
        let optional = [
            ("address", &self.source.address),
            ("action_id", &self.action_id),
            ("subject", &self.subject),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                body.insert(name.to_owned(), json!(value));
            }
        }
        NewEvent {
            id: id.to_owned(),
            at,
            category: self.what.category(),
            event: self.what.as_str(),
            actor_kind,
            actor_id,
            action_id: self.action_id.clone(),
            subject: self.subject.clone(),
            outcome: self.outcome.clone(),
            denied: self.denied,
            body: canonical(&body),
        }
    }
}

/// Writes one event. The id is made before the transaction's first try, so that a second try can't write it twice.
pub fn record(conn: &mut Conn, id: &str, at: Timestamp, entry: &Entry) -> QueryResult<()> {
    events::insert(conn, &entry.row(id, at))
}

/// Writes a denial that nothing bounds. The first of its agent, code and minute is an event; the others are counted, and
/// [`close_floods`] turns the count into one event.
pub fn record_unbounded(
    conn: &mut Conn,
    id: &str,
    at: Timestamp,
    agent_id: &str,
    entry: &Entry,
) -> QueryResult<()> {
    if floods::count(conn, agent_id, &entry.outcome, minute(at))? > 1 {
        return Ok(());
    }
    record(conn, id, at, entry)
}

/// Whether there is a counter of a past minute to close.
pub fn has_closed_floods(conn: &mut Conn, now: Timestamp) -> QueryResult<bool> {
    Ok(!floods::closed(conn, minute(now), 1)?.is_empty())
}

/// Closes the counters of past minutes. Returns how many there were; at most `limit` at a time.
pub fn close_floods(conn: &mut Conn, now: Timestamp, limit: i64) -> QueryResult<usize> {
    let closed = floods::closed(conn, minute(now), limit)?;
    for flood in &closed {
        let Some(flood) = floods::take(conn, flood)?.filter(|flood| flood.denials > 1) else {
            continue;
        };
        let entry = Entry {
            denied: true,
            ..Entry::new(What::Denials, Actor::Agent(flood.agent_id.clone()), &Source::INTERNAL, flood.code)
        };
        let minute = flood.minute.and_utc().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        let entry = entry.with("minute", minute).with("denials_after_the_first", flood.denials - 1);
        record(conn, &new_id(), now, &entry)?;
    }
    Ok(closed.len())
}

fn minute(at: Timestamp) -> Timestamp {
    at.with_second(0).map_or(at, |at| at.trunc_subsecs(0))
}
