//! How an action ended, in a sentence.

use super::{
    super::super::Letter,
    reader::{moment, moment_in_zone},
};
use crate::{store::actions::Status, workflow::Detail};

/// How an action ended.
pub struct Outcome {
    pub sentence: String,
    /// The person's own words, and what they are.
    pub words: Option<(&'static str, String)>,
}

/// Nothing while it waits.
pub fn outcome(detail: &Detail, letter: &Letter) -> Option<Outcome> {
    let (action, decision) = (&detail.action, detail.view.decision.as_ref());
    let by = decision.map_or("somebody", |decision| decision.by.as_str());
    let at = moment(action.decided_at.unwrap_or(action.expires_at), letter);
    let refusal = action.refusal_message.as_deref().unwrap_or_default();
    let sentence = match detail.status {
        Status::Pending => return None,
        Status::Executing => format!("Approved by {by} on {at}, and under way."),
        Status::Executed => format!("Approved by {by} on {at}, and done."),
        Status::Failed => {
            format!("Approved by {by} on {at}, but not done, and nothing was changed. {refusal}")
        }
        Status::Rejected => format!("Rejected by {by} on {at}. Nothing was changed."),
        Status::Withdrawn => format!("{} took it back on {at}. Nothing was changed.", detail.agent),
        Status::Expired => format!(
            "Nobody decided until {}. Nothing was changed; the agent can ask again.",
            moment_in_zone(action.expires_at, letter)
        ),
        Status::Indeterminate => {
            format!("Approved by {by} on {at}. Whether it was done is not known; a person has to look.")
        }
    };
    let label = match detail.status {
        Status::Rejected => "Why it was rejected",
        _ => "Note beside the decision",
    };
    Some(Outcome {
        sentence: sentence.trim_end().to_owned(),
        words: action.decision_note.clone().map(|words| (label, words)),
    })
}
