//! What a kind of action and a read tool are, and the registry of both.
//!
//! The gate speaks to [`Kind`] and [`ReadTool`], which are object-safe, so that kinds known only at run time fit too.
//! A kind written in Rust implements the typed [`ActionKind`] or [`Read`] instead; [`typed`] lifts it.

pub mod canonical;
pub mod schema;
pub mod typed;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::{
    db::{Conn, QueryResult, Timestamp},
    error::Denial,
    store::subjects::Versions,
};
pub use schema::{JsonObject, Shape};
pub use typed::{About, ActionKind, Read};

/// A business rule says no. A value, not an error: it commits together with the event that records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Stable; programs match on it.
    pub rule: &'static str,
    /// A sentence the agent can act on.
    pub message: String,
}

impl Refusal {
    /// A refusal by `rule`.
    pub fn new(rule: &'static str, message: impl Into<String>) -> Self {
        Self {
            rule,
            message: message.into(),
        }
    }
}

/// What stays the same about a kind.
pub struct KindSpec {
    /// The kind's name; its tool is `request_` + name, its preview `templates/kinds/` + name + `.html`.
    pub name: &'static str,
    /// Goes up when the meaning of the params changes: an action of another version can no longer be approved.
    pub version: i32,
    /// What an agent needs to ask for it.
    pub scope: &'static str,
    /// For people.
    pub title: &'static str,
    /// For agents: what the tool does, and what comes after.
    pub description: &'static str,
    /// How long a repeated request replays the outcome, unless the configuration says otherwise.
    pub retry_window: Duration,
    /// Whether the write takes something away that another request can't bring back.
    pub destructive: bool,
    /// What the amounts in [`Wording`] are counted in.
    pub measure: Measure,
    /// The arguments that make up the write; the tool adds `reason` and `idempotency_key`.
    pub shape: Shape,
}

impl KindSpec {
    /// The name of the tool that asks for it.
    pub fn tool(&self) -> String {
        format!("request_{}", self.name)
    }
}

/// A kind of action.
pub trait Kind: Send + Sync {
    /// What stays the same about it.
    fn spec(&self) -> &KindSpec;

    /// Turns arguments of the kind's [`Shape`] into canonical params that name existing records by their public ids.
    fn resolve(&self, conn: &mut Conn, arguments: &JsonObject) -> QueryResult<Result<String, Denial>>;

    /// Reads the records that canonical params name, and locks them if asked. `None` when one is gone.
    fn open(&self, conn: &mut Conn, params: &str, lock: Lock) -> QueryResult<Option<Box<dyn Case>>>;
}

/// Whether records are read or held until the transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    No,
    Yes,
}

/// One write together with the records it concerns, as they are now.
pub trait Case: Send {
    /// The records and their versions.
    fn versions(&self) -> Versions;

    /// The business rules. The same function at request time and at approval.
    fn check(&self) -> Result<(), Refusal>;

    /// How the write is called.
    fn wording(&self) -> Wording;

    /// What would change.
    fn preview(&self) -> Preview;

    /// Does the write and answers its result. Called on locked records that passed [`Case::check`].
    fn apply(&self, conn: &mut Conn, effect: &Effect<'_>) -> QueryResult<Value>;
}

/// How a write is called, in the words people know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wording {
    /// "Refund INR 8,999.00 on order #1044".
    pub summary: String,
    /// "Refund order #1044".
    pub headline: String,
    /// "INR 8,999.00", "+48".
    pub figure: String,
    /// How much that is, where it is a matter of more or less.
    pub amount: Option<Amount>,
}

/// How much a write is about, whichever way it goes: what people's wishes compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amount {
    /// Minor units of the currency, or pieces; never negative.
    pub value: i64,
    /// An ISO 4217 code, or [`Amount::PIECES`].
    pub unit: String,
}

impl Amount {
    /// The unit of what is counted.
    pub const PIECES: &str = "pieces";

    /// Money, whichever way it goes.
    pub fn money(minor: i64, currency: &str) -> Self {
        Self {
            value: minor.saturating_abs(),
            unit: currency.to_owned(),
        }
    }

    /// So many pieces, more or fewer.
    pub fn pieces(count: i64) -> Self {
        Self {
            value: count.saturating_abs(),
            unit: Self::PIECES.to_owned(),
        }
    }
}

/// What a kind's amounts are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// It is not a matter of more or less.
    None,
    /// Minor units of a currency.
    Money,
    /// Pieces.
    Pieces,
}

/// What an approver is shown of a write.
#[derive(Debug, Clone)]
pub struct Preview {
    /// What changes, before and after, from today's data.
    pub changes: Vec<Change>,
    /// The rest, as HTML from the kind's template.
    pub facts: String,
}

/// One line of a preview.
#[derive(
    Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema, utoipa::ToSchema,
)]
pub struct Change {
    /// "Left to refund".
    pub what: String,
    /// The value now.
    pub now: String,
    /// The value after the write; empty when the write leaves it alone.
    pub after: String,
}

impl Change {
    /// A value that the write changes.
    pub fn new(what: impl Into<String>, now: impl Into<String>, after: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            now: now.into(),
            after: after.into(),
        }
    }

    /// A value worth knowing that stays as it is.
    pub fn same(what: impl Into<String>, now: impl Into<String>) -> Self {
        Self::new(what, now, "")
    }
}

/// What a write is done under.
pub struct Effect<'a> {
    /// The action it belongs to; at most one effect may name it.
    pub action_id: &'a str,
    /// When, by the database's clock.
    pub at: Timestamp,
}

/// What stays the same about a read tool.
pub struct ReadSpec {
    /// The tool's name.
    pub name: &'static str,
    /// What an agent needs to call it.
    pub scope: &'static str,
    /// For people.
    pub title: &'static str,
    /// For agents.
    pub description: &'static str,
    /// The arguments.
    pub shape: Arc<Shape>,
    /// The answer.
    pub output: JsonObject,
}

/// A tool that reads.
pub trait ReadTool: Send + Sync {
    /// What stays the same about it.
    fn spec(&self) -> &ReadSpec;

    /// Answers arguments of the tool's [`Shape`].
    fn read(&self, conn: &mut Conn, arguments: &JsonObject) -> QueryResult<Result<Found, Denial>>;
}

/// What a read tool found.
pub struct Found {
    /// The answer.
    pub body: Value,
    /// The record it is about ("order:#1044"), for the audit log.
    pub subject: Option<String>,
}

/// Every kind and read tool, in the order agents see them.
#[derive(Default, Clone)]
pub struct Registry {
    kinds: Vec<Arc<dyn Kind>>,
    reads: Vec<Arc<dyn ReadTool>>,
}

impl Registry {
    /// Adds a kind of action.
    #[must_use]
    pub fn kind(mut self, kind: impl ActionKind) -> Self {
        self.kinds.push(Arc::new(typed::TypedKind::new(kind)));
        self
    }

    /// Adds a read tool.
    #[must_use]
    pub fn read(mut self, read: impl Read) -> Self {
        self.reads.push(Arc::new(typed::TypedRead::new(read)));
        self
    }

    /// The kinds, in order of registration.
    pub fn kinds(&self) -> impl Iterator<Item = &Arc<dyn Kind>> {
        self.kinds.iter()
    }

    /// The read tools, in order of registration.
    pub fn reads(&self) -> impl Iterator<Item = &Arc<dyn ReadTool>> {
        self.reads.iter()
    }

    /// The kind of that name.
    pub fn find_kind(&self, name: &str) -> Option<&Arc<dyn Kind>> {
        self.kinds.iter().find(|kind| kind.spec().name == name)
    }

    /// Every scope that a kind or a read tool asks for, sorted.
    pub fn scopes(&self) -> Vec<&'static str> {
        let kinds = self.kinds.iter().map(|kind| kind.spec().scope);
        let reads = self.reads.iter().map(|read| read.spec().scope);
        let mut scopes: Vec<_> = kinds.chain(reads).collect();
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    }
}
