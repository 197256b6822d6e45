//! How an action ended, in a sentence.

use super::{
    super::super::Letter,
    reader::{moment, moment_in_zone},
};
use crate::{
    store::actions::Status,
    workflow::{Detail, wording},
};

/// How an action ended.
pub struct Outcome {
    pub sentence: String,
    /// The person's own words, and what they are.
    pub words: Option<(&'static str, String)>,
}

/// Nothing while it waits.
pub fn outcome(detail: &Detail, letter: &Letter) -> Option<Outcome> {
    let action = &detail.action;
    let at = format!("on {}", moment(action.decided_at.unwrap_or(action.expires_at), letter));
    let sentence = wording::ending(detail, &at, &moment_in_zone(action.expires_at, letter))?;
    let label = match detail.status {
        Status::Rejected => "Why it was rejected",
        _ => "Note beside the decision",
    };
    Some(Outcome {
        sentence,
        words: action.decision_note.clone().map(|words| (label, words)),
    })
}
