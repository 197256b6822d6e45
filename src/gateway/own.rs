//! The gate's own tools: an agent looks after its own actions.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Bound, Caller, Gateway, tools::Callable};
use crate::{
    audit::{Actor, Entry, What},
    db::text_enum,
    error::{Denial, Result},
    kinds::{JsonObject, Shape, schema::object_schema, typed::typed},
    paging,
    store::{
        actions::{self, Filter, Status},
        agents, read_id,
    },
    workflow::{ActionView, no_such_action},
};

text_enum! {
    /// The gate's own tools.
    pub enum Own {
        GetStatus = "get_action_status",
        List = "list_actions",
        Withdraw = "withdraw_action",
    }
}

/// The longest wait, in seconds: clients give up after about a minute.
const MAX_WAIT: u32 = 50;
const DEFAULT_LIMIT: i64 = 20;

#[derive(Deserialize, JsonSchema)]
struct GetStatus {
    #[schemars(length(min = 1, max = 64))]
    action_id: String,
    /// Seconds to wait for a decision.
    #[serde(default)]
    #[schemars(range(min = 0, max = 50))]
    wait_seconds: u32,
}

#[derive(Deserialize, JsonSchema)]
struct List {
    status: Option<Status>,
    #[schemars(length(max = 64))]
    kind: Option<String>,
    #[schemars(range(min = 1, max = 50))]
    limit: Option<i64>,
    /// next_cursor of the page before.
    #[schemars(length(max = 64))]
    cursor: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Withdraw {
    #[schemars(length(min = 1, max = 64))]
    action_id: String,
}

/// A page of the agent's actions.
#[derive(Serialize, JsonSchema)]
struct ListView {
    actions: Vec<ActionView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Own {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::GetStatus => "Look at a request",
            Self::List => "List your requests",
            Self::Withdraw => "Withdraw a request",
        }
    }

    pub(super) fn description(self) -> &'static str {
        match self {
            Self::GetStatus => {
                "How one of your requests stands: pending, executed, rejected, failed, expired or withdrawn. wait_seconds \
                 waits for a person's decision."
            }
            Self::List => "Your own requests, newest first.",
            Self::Withdraw => {
                "Takes back one of your requests that nobody has decided yet. If it is too late, the answer is the state \
                 that won."
            }
        }
    }

    pub(super) fn shape(self) -> Shape {
        match self {
            Self::GetStatus => Shape::of::<GetStatus>(),
            Self::List => Shape::of::<List>(),
            Self::Withdraw => Shape::of::<Withdraw>(),
        }
    }

    pub(super) fn output(self) -> JsonObject {
        match self {
            Self::GetStatus | Self::Withdraw => object_schema::<ActionView>(),
            Self::List => object_schema::<ListView>(),
        }
    }
}

impl Gateway {
    pub(super) async fn own(
        &self,
        caller: &Caller,
        own: Own,
        tool: &Callable,
        arguments: &JsonObject,
    ) -> Result<Value> {
        match own {
            Own::GetStatus => {
                let GetStatus {
                    action_id,
                    wait_seconds,
                } = typed(&tool.shape, arguments)?;
                self.status(caller, tool.name, &action_id, wait_seconds).await
            }
            Own::List => self.list(caller, tool.name, typed(&tool.shape, arguments)?).await,
            Own::Withdraw => {
                let Withdraw { action_id } = typed(&tool.shape, arguments)?;
                let view =
                    self.gate.withdraw(&caller.agent_id, &caller.source, tool.name, &action_id).await?;
                Ok(json!(view))
            }
        }
    }

    /// Answers as soon as a decision falls, the wait is over, the action expires, or the client has gone.
    async fn status(
        &self,
        caller: &Caller,
        tool: &'static str,
        action_id: &str,
        wait_seconds: u32,
    ) -> Result<Value> {
        let wait = Duration::from_secs(wait_seconds.min(MAX_WAIT).into());
        let deadline = tokio::time::Instant::now() + wait;
        let waiter = self.gate.waiters.join(action_id);
        let (view, outcome) = loop {
            let decided = waiter.next();
            let Some((view, left)) = self.own_action(caller, action_id).await? else {
                return self.deny(caller, tool, no_such_action(), Bound::Limited).await;
            };
            let open = matches!(view.status, Status::Pending | Status::Executing);
            if !open || tokio::time::Instant::now() >= deadline {
                break (view, "ok");
            }
            let expiry = tokio::time::Instant::now() + left;
            tokio::select! {
                () = decided => {}
                () = tokio::time::sleep_until(deadline.min(expiry)) => {}
                () = caller.gone.cancelled() => break (view, "client_gone"),
                () = self.gate.waiters.stopped() => break (view, "ok"),
            }
        };
        let actor = Actor::Agent(caller.agent_id.clone());
        let entry = Entry::new(What::ToolCall, actor, &caller.source, outcome).with("tool", tool);
        self.record(entry.action(&view.action_id), Bound::Limited).await?;
        Ok(json!(view))
    }

    /// The caller's action and the time until it expires; another agent's is as absent as a missing one.
    async fn own_action(&self, caller: &Caller, action_id: &str) -> Result<Option<(ActionView, Duration)>> {
        let (gate, agent_id, id) = (self.gate.clone(), caller.agent_id.clone(), action_id.to_owned());
        let found = self.gate.db.read(move |conn| {
            let Some(action) = actions::find(conn, &id)?.filter(|action| action.agent_id == agent_id) else {
                return Ok(None);
            };
            // A key that was revoked during a wait is told no more.
            if agents::find(conn, &agent_id)?.is_none_or(|agent| agent.revoked_at.is_some()) {
                return Ok(None);
            }
            let now = gate.clock.now(conn)?;
            let left = (action.expires_at - now).to_std().unwrap_or_default();
            gate.view(conn, &action, now, None).map(|view| Some((view, left)))
        });
        found.await
    }

    async fn list(&self, caller: &Caller, tool: &'static str, list: List) -> Result<Value> {
        let kind = list.kind.as_deref();
        if kind.is_some_and(|kind| self.gate.registry.find_kind(kind).is_none()) {
            let known =
                self.gate.registry.kinds().map(|kind| kind.spec().name).collect::<Vec<_>>().join(", ");
            let denial = Denial::invalid("kind", format!("There is no such kind. The kinds are: {known}."));
            return self.deny(caller, tool, denial, Bound::Limited).await;
        }
        let before_id = match list
            .cursor
            .as_deref()
            .map(|cursor| read_id(cursor).ok_or_else(paging::unknown_cursor))
            .transpose()
        {
            Ok(id) => id,
            Err(denial) => return self.deny(caller, tool, denial, Bound::Limited).await,
        };
        let limit = list.limit.unwrap_or(DEFAULT_LIMIT);
        let filter = Filter {
            status: list.status,
            kind: list.kind,
            agent_id: Some(caller.agent_id.clone()),
            before_id,
            limit: limit + 1,
        };
        let gate = self.gate.clone();
        let page = self.gate.db.read(move |conn| {
            let now = gate.clock.now(conn)?;
            let found = actions::list(conn, now, &filter)?;
            let (found, next_cursor) = paging::split(found, limit, |last| last.id.clone());
            let views =
                found.iter().map(|action| gate.view(conn, action, now, None)).collect::<Result<_, _>>()?;
            Ok(ListView {
                actions: views,
                next_cursor,
            })
        });
        let page = page.await?;
        let actor = Actor::Agent(caller.agent_id.clone());
        let entry = Entry::new(What::ToolCall, actor, &caller.source, "ok").with("tool", tool);
        self.record(entry, Bound::Limited).await?;
        Ok(json!(page))
    }
}
