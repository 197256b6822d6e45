//! How an action ended, in a sentence.

use crate::{
    web::when,
    workflow::{Detail, wording},
};

/// How an action ended.
pub struct Outcome {
    /// ok, bad or plain.
    pub tone: &'static str,
    pub sentence: String,
    /// The approver's note, or the reason of a rejection: what the agent is told.
    pub told: Option<String>,
}

/// Nothing while it waits.
pub fn outcome(detail: &Detail) -> Option<Outcome> {
    let action = &detail.action;
    let moment = |at| format!("{} UTC", when::moment(at, detail.now));
    let at = moment(action.decided_at.unwrap_or(action.expires_at));
    Some(Outcome {
        tone: wording::tone(detail.status),
        sentence: wording::ending(detail, &at, &moment(action.expires_at))?,
        told: action.decision_note.clone(),
    })
}
