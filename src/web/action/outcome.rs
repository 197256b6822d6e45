//! How an action ended, in a sentence.

use crate::{store::actions::Status, web::when, workflow::Detail};

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
    let (action, decision) = (&detail.action, detail.view.decision.as_ref());
    let by = decision.map_or("somebody", |decision| decision.by.as_str());
    let at = action.decided_at.unwrap_or(action.expires_at);
    let at = format!("{} UTC", when::moment(at, detail.now));
    let refusal = action.refusal_message.as_deref().unwrap_or_default();
    let (tone, sentence) = match detail.status {
        Status::Pending => return None,
        Status::Executing => ("plain", format!("Approved by {by} {at}, and under way.")),
        Status::Executed => ("ok", format!("Approved by {by} {at}, and done.")),
        Status::Failed => ("bad", format!("Approved by {by} {at}, but not done. {refusal}")),
        Status::Rejected => ("plain", format!("Rejected by {by} {at}. Nothing was changed.")),
        Status::Withdrawn => ("plain", format!("{} took it back {at}. Nothing was changed.", detail.agent)),
        Status::Expired => ("plain", format!("Nobody decided until {at}. Nothing was changed.")),
        Status::Indeterminate => (
            "bad",
            format!("Approved by {by} {at}. Whether it was done is not known; a person has to look."),
        ),
    };
    Some(Outcome {
        tone,
        sentence,
        told: action.decision_note.clone(),
    })
}
