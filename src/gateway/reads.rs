//! Read tools: answered after their event has committed.

use std::sync::Arc;

use serde_json::Value;

use super::{Bound, Caller, Gateway, answered};
use crate::{
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
                self.record(answered(caller, name, "ok").subject(found.subject), Bound::Limited).await?;
                Ok(found.body)
            }
            Err(denial) => self.deny(caller, name, denial, Bound::Limited).await,
        }
    }
}
