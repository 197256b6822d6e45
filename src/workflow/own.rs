//! An agent looks at its own action.

use std::time::Duration;

use super::{Gate, view::ActionView};
use crate::{
    error::{Code, Denial, Result},
    store::{actions, credentials},
};

impl Gate {
    /// An agent's own action, and the time until it expires.
    ///
    /// # Errors
    /// `not_found` for an action of somebody else as for none, and for a key that was revoked meanwhile: whoever holds it is
    /// told no more.
    pub async fn own_action(
        &self,
        agent_id: &str,
        key_prefix: &str,
        id: &str,
    ) -> Result<(ActionView, Duration)> {
        let (gate, agent_id, key, id) =
            (self.clone(), agent_id.to_owned(), key_prefix.to_owned(), id.to_owned());
        let found = self.db.read(move |conn| {
            let Some(action) = actions::find(conn, &id)?.filter(|action| action.agent_id == agent_id) else {
                return Ok(None);
            };
            if credentials::find(conn, &key)?.is_none_or(|key| key.revoked_at.is_some()) {
                return Ok(None);
            }
            let now = gate.clock.now(conn)?;
            let left = (action.expires_at - now).to_std().unwrap_or_default();
            gate.view(conn, &action, now, None).map(|view| Some((view, left)))
        });
        Ok(found.await?.ok_or_else(no_such_action)?)
    }
}

/// What an agent is told of an action that is not its own, or not there.
pub(super) fn no_such_action() -> Denial {
    Denial {
        field: Some("action_id".to_owned()),
        ..Denial::new(Code::NotFound, "There is no such action.")
    }
}
