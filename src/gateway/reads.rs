//! Read tools: answered after their event has committed.

use std::sync::Arc;

use serde_json::Value;

use super::{Bound, Caller, Gateway};
use crate::{
    audit::{Actor, Entry, What},
    error::Result,
    kinds::{JsonObject, ReadTool},
};

impl Gateway {
    pub(super) async fn read(
        &self,
        caller: &Caller,
        tool: &Arc<dyn ReadTool>,
        name: &'static str,
        arguments: JsonObject,
    ) -> Result<Value> {
        let tool = Arc::clone(tool);
        match self.gate.db.read(move |conn| tool.read(conn, &arguments)).await? {
            Ok(found) => {
                let actor = Actor::Agent(caller.agent_id.clone());
                let entry = Entry::new(What::ToolCall, actor, &caller.source, "ok").with("tool", name);
                self.record(entry.subject(found.subject), Bound::Limited).await?;
                Ok(found.body)
            }
            Err(denial) => self.deny(caller, name, denial, Bound::Limited).await,
        }
    }
}
