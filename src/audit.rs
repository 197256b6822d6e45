//! The append-only log. An event commits with what it describes; if it can't be written, the thing doesn't happen.
//!
//! Events hold ids, digests and amounts. Reasons, params and e-mail addresses stay in rows that retention can prune.

pub mod export;
pub mod floods;
pub mod log;

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use crate::{
    db::{Conn, QueryResult, Timestamp, text_enum},
    error::Code,
    kinds::canonical::canonical,
    store::events::{self, NewEvent},
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

    /// The network that counts as one client: an IPv4 address itself, of an IPv6 address the /64, which one client has
    /// for itself.
    pub fn network(&self) -> Option<String> {
        let address = self.address.as_ref()?;
        match address.parse() {
            Ok(IpAddr::V6(address)) => {
                let prefix = std::net::Ipv6Addr::from_bits(address.to_bits() >> 64 << 64);
                Some(format!("{prefix}/64"))
            }
            _ => Some(address.clone()),
        }
    }
}

/// Who acted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Actor {
    Agent(String),
    Person(String),
    /// Nobody that could be authenticated.
    Stranger,
    /// The operator at the command line, or the process itself.
    System,
}

impl Actor {
    fn columns(&self) -> (&'static str, Option<String>) {
        match self {
            Self::Agent(id) => ("agent", Some(id.clone())),
            Self::Person(id) => ("person", Some(id.clone())),
            Self::Stranger => ("stranger", None),
            Self::System => ("system", None),
        }
    }

    fn of_columns(kind: &str, id: String) -> Self {
        match kind {
            "agent" => Self::Agent(id),
            "person" => Self::Person(id),
            "stranger" => Self::Stranger,
            _ => Self::System,
        }
    }
}

text_enum! {
    /// What happened.
    pub enum What {
        ToolCall = "tool_call",
        /// An agent's message that was no call of a tool, nor anything else.
        Message = "message",
        /// Calls and messages denied in a flood, counted.
        Denials = "denials",
        Approval = "approval",
        Rejection = "rejection",
        Expiry = "expiry",
        SignIn = "sign_in",
        /// A key or a token that was not accepted. One that is accepted is no event of its own.
        Authentication = "authentication",
        /// Sign-ins, keys and tokens refused in a flood, counted.
        FailedSignIns = "failed_sign_ins",
        SignOut = "sign_out",
        Account = "account",
        Pause = "pause",
        Resume = "resume",
        /// Old payloads were dropped.
        Prune = "prune",
        /// The database was copied.
        Backup = "backup",
        /// A message that was given up is tried again.
        Redelivery = "redelivery",
    }
}

text_enum! {
    /// The groups of events by which people filter the log.
    pub enum Category {
        Tools = "tools",
        Decisions = "decisions",
        SignIns = "sign_ins",
        Accounts = "accounts",
        Pauses = "pauses",
        Upkeep = "upkeep",
    }
}

impl What {
    /// The group it belongs to.
    pub fn category(self) -> Category {
        match self {
            Self::ToolCall | Self::Message | Self::Denials => Category::Tools,
            Self::Approval | Self::Rejection | Self::Expiry => Category::Decisions,
            Self::SignIn | Self::Authentication | Self::FailedSignIns | Self::SignOut => Category::SignIns,
            Self::Account => Category::Accounts,
            Self::Pause | Self::Resume => Category::Pauses,
            Self::Prune | Self::Backup | Self::Redelivery => Category::Upkeep,
        }
    }
}

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
        let (actor_kind, actor_id) = self.actor.columns();
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
            category: self.what.category().as_str(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_is_one_network() {
        let network = |address: &str| {
            let source = Source {
                door: Door::Rest,
                address: Some(address.to_owned()),
            };
            source.network().expect("an address")
        };
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
        assert_eq!(network("2001:db8:1:2:ffff::1"), network("2001:db8:1:2::"));
        assert_eq!(Source::INTERNAL.network(), None);
    }
}
