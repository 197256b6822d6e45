//! A person says no.

use super::{Gate, decide::names, decider::Decider, note};
use crate::{
    audit::What,
    error::Result,
    store::{
        actions::{Action, Status},
        people::Role,
    },
};

/// What a person saw and says.
#[derive(Debug, Clone)]
pub struct Rejection {
    /// The digest of the action as it was shown.
    pub digest: String,
    /// Told to the agent.
    pub reason: String,
}

impl Gate {
    /// Rejects an action. Works while paused.
    ///
    /// # Errors
    /// `invalid_params`, `not_found`, `already_decided`, `unauthenticated`, `forbidden`, `digest_mismatch`.
    pub async fn reject(&self, decider: &Decider, id: &str, rejection: Rejection) -> Result<Action> {
        let reason = note::required("reason", &rejection.reason).map(Some);
        self.decide(decider, id, What::Rejection, reason, move |conn, locked| {
            if let Err(denial) = locked.decider.hold(conn, &locked.gate.clock, Role::decides)? {
                return Ok(Err(denial));
            }
            if let Err(denial) = names(&rejection.digest, locked.action) {
                return Ok(Err(denial));
            }
            Ok(Ok(locked.ending(Status::Rejected)))
        })
        .await
    }
}
