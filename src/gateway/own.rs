//! The gate's own tools: an agent looks after its own actions.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Arguments, Bound, Caller, Gateway, answered};
use crate::{
    db::text_enum,
    error::{Error, Result},
    kinds::{JsonObject, Shape, schema::object_schema, typed::typed},
    paging,
    store::{actions::Status, read_id},
    workflow::{ActionView, Wanted},
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

#[derive(Deserialize, JsonSchema)]
struct GetStatus {
    #[schemars(length(min = 1, max = 64))]
    action_id: String,
    /// Seconds to wait for a decision.
    #[serde(default)]
    #[schemars(range(min = 0, max = MAX_WAIT))]
    wait_seconds: u32,
}

#[derive(Deserialize, JsonSchema)]
struct List {
    status: Option<Status>,
    #[schemars(length(max = 64))]
    kind: Option<String>,
    #[schemars(range(min = 1, max = paging::MAX_LIMIT))]
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

/// Whether a call waits until a person has decided.
pub fn waits_for_a_person(tool: &str, arguments: &Arguments) -> bool {
    let Arguments::Read(arguments) = arguments else { return false };
    tool == Own::GetStatus.as_str() && arguments.get("wait_seconds").is_some_and(|seconds| *seconds != 0)
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
        tool: &'static str,
        arguments: &JsonObject,
    ) -> Result<Value> {
        match own {
            Own::GetStatus => {
                let GetStatus {
                    action_id,
                    wait_seconds,
                } = typed(arguments)?;
                self.status(caller, tool, &action_id, wait_seconds).await
            }
            Own::List => self.list(caller, tool, typed(arguments)?).await,
            Own::Withdraw => {
                let Withdraw { action_id } = typed(arguments)?;
                let Caller {
                    agent_id,
                    key_prefix,
                    source,
                    ..
                } = caller;
                let view = self.gate.withdraw(agent_id, key_prefix, source, tool, &action_id).await?;
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
            let found = self.gate.own_action(&caller.agent_id, &caller.key_prefix, action_id).await;
            let (view, left) = self.unless_denied(caller, tool, found).await?;
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
        self.record(answered(caller, tool, outcome).action(&view.action_id), Bound::Limited)
            .await?;
        Ok(json!(view))
    }

    async fn list(&self, caller: &Caller, tool: &'static str, list: List) -> Result<Value> {
        let cursor =
            list.cursor.map(|cursor| read_id(&cursor).ok_or_else(paging::unknown_cursor)).transpose();
        let page = match cursor {
            Ok(cursor) => {
                self.gate
                    .page(Wanted {
                        status: list.status,
                        kind: list.kind,
                        agent_id: Some(caller.agent_id.clone()),
                        cursor,
                        limit: list.limit.unwrap_or(paging::DEFAULT_LIMIT),
                        ..Wanted::default()
                    })
                    .await
            }
            Err(denial) => Err(denial.into()),
        };
        let page = self.unless_denied(caller, tool, page).await?;
        self.record(answered(caller, tool, "ok"), Bound::Limited).await?;
        Ok(json!(ListView {
            actions: page.actions.into_iter().map(|listed| listed.action).collect(),
            next_cursor: page.next_cursor,
        }))
    }

    /// What was found; a denial is recorded before it goes on.
    async fn unless_denied<T>(&self, caller: &Caller, tool: &'static str, found: Result<T>) -> Result<T> {
        match found {
            Err(Error::Denied(denial)) => self.deny(caller, tool, denial, Bound::Limited).await,
            found => found,
        }
    }
}
