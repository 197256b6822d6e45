//! The one door for agents. Nothing an agent sends reaches a table past it.
//!
//! The order: authenticate → scope → read or flood limit → parse and resolve records → slot → pause (but for a join) →
//! (only when a new action opens) write token, rules → audit. Rules or write tokens before the slot would break replays.

mod limits;
mod own;
mod rate;
mod reads;
mod tools;

use std::{sync::Arc, time::Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub use limits::AgentLimits;
pub use own::waits_for_a_person;
pub use rate::Rate;
pub use tools::Tool;

use crate::{
    audit::{self, Actor, Entry, Source, What},
    auth::Auth,
    error::{Code, Denial, Error, Result},
    kinds::{JsonObject, Kind, ReadTool},
    store::new_id,
    workflow::{Gate, Request, scope_missing, split},
};
use own::Own;
use tools::Callable;

/// The gateway; cheap to clone.
#[derive(Clone)]
pub struct Gateway {
    gate: Gate,
    auth: Auth,
    limits: Arc<AgentLimits>,
    toolbox: Arc<tools::Toolbox>,
    observe: Observer,
}

/// Told about each call: the tool's name, the code or `ok`, and how long it took.
pub type Observer = Arc<dyn Fn(&str, &str, std::time::Duration) + Send + Sync>;

/// An authenticated agent.
#[derive(Debug, Clone)]
pub struct Caller {
    pub agent_id: String,
    /// Of the key it came with.
    pub key_prefix: String,
    pub scopes: Vec<String>,
    pub source: Source,
    /// Cancelled when the client no longer waits for the answer. It ends waits; it undoes nothing.
    pub gone: CancellationToken,
}

/// A call's arguments, as the strict reader found them.
#[derive(Debug, Clone)]
pub enum Arguments {
    Read(JsonObject),
    /// Something no argument may be; the sentence says what.
    Faulty(String),
}

/// What a tool answers.
#[derive(Debug, Clone)]
pub struct Answer {
    pub body: Value,
    pub is_error: bool,
}

impl Answer {
    /// What a caller is told of a denial.
    pub fn refused(denial: &Denial) -> Self {
        Self {
            body: error_body(denial),
            is_error: true,
        }
    }
}

/// There is no tool of that name.
#[derive(Debug)]
pub struct UnknownTool;

/// What a tool's name stands for.
#[derive(Clone)]
enum Target {
    Own(Own),
    Read(Arc<dyn ReadTool>),
    Request(Arc<dyn Kind>),
}

impl Gateway {
    /// A gateway before a gate.
    pub fn new(gate: Gate, auth: Auth, limits: AgentLimits, observe: Observer) -> Self {
        let toolbox = Arc::new(tools::Toolbox::new(&gate.registry));
        Self {
            gate,
            auth,
            limits: Arc::new(limits),
            toolbox,
            observe,
        }
    }

    /// The agent whose key this is.
    ///
    /// # Errors
    /// `unauthenticated`, for whatever is wrong with the key.
    pub async fn authenticate(&self, key: &str, source: &Source) -> Result<Caller> {
        let (agent, key_prefix) = self.auth.agent_key(key, source).await?;
        Ok(Caller {
            key_prefix,
            scopes: agent.scopes().map(ToOwned::to_owned).collect(),
            agent_id: agent.id,
            source: source.clone(),
            gone: CancellationToken::new(),
        })
    }

    /// The tools that the caller's scopes allow, in a fixed order.
    pub fn tools(&self, caller: &Caller) -> Vec<Tool> {
        self.toolbox.allowed(&caller.scopes)
    }

    /// Records that a message of the caller's was refused before it became a call; `jsonrpc_code` is what it is told.
    ///
    /// # Errors
    /// When that can't be recorded.
    pub async fn message_refused(&self, caller: &Caller, jsonrpc_code: i32) -> Result<()> {
        let actor = Actor::Agent(caller.agent_id.clone());
        let entry = Entry::denied(What::Message, actor, &caller.source, Code::InvalidParams);
        self.record(entry.with("jsonrpc_code", jsonrpc_code), Bound::None).await
    }

    /// Calls a tool. Whatever is wrong with the arguments or with the business is an answer.
    pub async fn call(
        &self,
        caller: &Caller,
        tool: &str,
        arguments: Arguments,
    ) -> Result<Answer, UnknownTool> {
        let Some(tool) = self.toolbox.find(tool) else {
            return match self.record_unknown(caller).await {
                Ok(()) => Err(UnknownTool),
                Err(error) => Ok(Answer::refused(&error.into_denial())),
            };
        };
        let begun = Instant::now();
        let outcome = match self.admit(caller, tool, arguments).await {
            Ok(arguments) => self.dispatch(caller, tool, arguments).await,
            Err(error) => Err(error),
        };
        if matches!(outcome, Err(Error::Internal(_))) {
            self.record_defect(caller, tool.name).await;
        }
        let denial = outcome.map_err(Error::into_denial);
        (self.observe)(
            tool.name,
            denial.as_ref().map_or_else(|denial| denial.code.as_str(), |_| "ok"),
            begun.elapsed(),
        );
        Ok(match denial {
            Ok(body) => Answer {
                body,
                is_error: false,
            },
            Err(denial) => Answer::refused(&denial),
        })
    }

    /// Scope, then limit, then the arguments' form. Each denial is recorded, or counted behind one that is, before it is answered.
    async fn admit(&self, caller: &Caller, tool: &Callable, arguments: Arguments) -> Result<JsonObject> {
        if let Some(scope) = tool.scope_missing(&caller.scopes) {
            return self.deny(caller, tool.name, scope_missing(scope), Bound::None).await;
        }
        let admitted = match tool.target {
            Target::Own(_) | Target::Read(_) => self.limits.read(&caller.agent_id),
            Target::Request(_) => self.limits.flood(&caller.agent_id),
        };
        if let Err(denial) = admitted {
            return self.deny(caller, tool.name, denial, Bound::None).await;
        }
        let checked = match arguments {
            Arguments::Faulty(sentence) => Err(Denial::new(Code::InvalidParams, sentence)),
            Arguments::Read(arguments) => tool.check(&arguments).map(|()| arguments),
        };
        match checked {
            Ok(arguments) => Ok(arguments),
            Err(denial) => self.deny(caller, tool.name, denial, Bound::Limited).await,
        }
    }

    async fn dispatch(&self, caller: &Caller, tool: &Callable, arguments: JsonObject) -> Result<Value> {
        match &tool.target {
            Target::Own(own) => self.own(caller, *own, tool.name, &arguments).await,
            Target::Read(read) => self.read(caller, read, tool.name, arguments).await,
            Target::Request(kind) => {
                let (arguments, reason, idempotency_key) = split(arguments);
                let request = Request {
                    agent_id: caller.agent_id.clone(),
                    key_prefix: caller.key_prefix.clone(),
                    source: caller.source.clone(),
                    kind: Arc::clone(kind),
                    arguments,
                    reason,
                    idempotency_key,
                };
                self.gate.request(request).await.map(|view| json!(view))
            }
        }
    }

    /// Records a denial, then hands it back.
    async fn deny<T>(&self, caller: &Caller, tool: &'static str, denial: Denial, bound: Bound) -> Result<T> {
        let entry =
            Entry::denied(What::ToolCall, Actor::Agent(caller.agent_id.clone()), &caller.source, denial.code)
                .with("tool", tool);
        self.record(entry, bound).await?;
        Err(denial.into())
    }

    async fn record(&self, entry: Entry, bound: Bound) -> Result<()> {
        if matches!(bound, Bound::None) {
            return self.auth.denied(entry).await;
        }
        let (clock, event) = (self.gate.clock.clone(), new_id());
        let recorded = self.gate.db.write(move |conn| {
            let now = clock.now(conn)?;
            audit::record(conn, &event, now, &entry)
        });
        recorded.await
    }

    /// The name is the agent's own text and stays out of the log.
    async fn record_unknown(&self, caller: &Caller) -> Result<()> {
        let actor = Actor::Agent(caller.agent_id.clone());
        let entry =
            Entry::denied(What::ToolCall, actor, &caller.source, Code::NotFound).with("tool", "unknown");
        self.record(entry, Bound::None).await
    }

    /// A defect is an answer too, and so an event. When even that can't be written, the log says what happened.
    async fn record_defect(&self, caller: &Caller, tool: &'static str) {
        let actor = Actor::Agent(caller.agent_id.clone());
        let entry = Entry::denied(What::ToolCall, actor, &caller.source, Code::Internal).with("tool", tool);
        if let Err(error) = self.record(entry, Bound::None).await {
            tracing::warn!(%error, tool, "a call that ended in a defect could not be recorded");
        }
    }
}

/// Whether something bounds how often a denial can happen.
#[derive(Clone, Copy)]
enum Bound {
    /// It took a token of the read or flood limit.
    Limited,
    /// Nothing does: while one is fresh in the log, the others are only counted, and cost no write.
    None,
}

/// A call that was answered.
fn answered(caller: &Caller, tool: &'static str, outcome: &'static str) -> Entry {
    let actor = Actor::Agent(caller.agent_id.clone());
    Entry::new(What::ToolCall, actor, &caller.source, outcome).with("tool", tool)
}

/// The error envelope of every tool.
pub fn error_body(denial: &Denial) -> Value {
    let mut error = json!({ "code": denial.code.as_str(), "message": denial.message });
    let optional = [
        ("field", denial.field.as_ref().filter(|field| !field.is_empty()).map(|field| json!(field))),
        ("rule", denial.rule.as_ref().map(|rule| json!(rule))),
        ("retry_after_seconds", denial.retry_after_seconds.map(|seconds| json!(seconds))),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            error[name] = value;
        }
    }
    json!({ "error": error })
}
