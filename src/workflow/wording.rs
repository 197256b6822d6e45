//! What people read of an action: the same words on its page and in a mail. Times come in as their reader is told them.

use super::{Detail, Named};
use crate::{kinds::Change, store::actions::Status};

/// Of another request.
pub const SAME_WRITE: &str = "It is exactly the same write.";

/// A status as a reader would say it.
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Pending => "Waiting",
        Status::Executing => "Under way",
        Status::Executed => "Executed",
        Status::Failed => "Failed",
        Status::Rejected => "Rejected",
        Status::Withdrawn => "Withdrawn",
        Status::Expired => "Expired",
        Status::Indeterminate => "Not known",
    }
}

/// How a status is taken: ok, bad, warn or plain.
pub fn tone(status: Status) -> &'static str {
    match status {
        Status::Pending => "warn",
        Status::Executed => "ok",
        Status::Failed | Status::Indeterminate => "bad",
        Status::Executing | Status::Rejected | Status::Withdrawn | Status::Expired => "plain",
    }
}

/// How an action ended `at` a time, "today at 10:41", or that nobody decided `until` then; nothing while it waits.
pub fn ending(detail: &Detail, at: &str, until: &str) -> Option<String> {
    let by = detail.view.decision.as_ref().map_or("somebody", |decision| decision.by.as_str());
    let refusal = detail.action.refusal_message.as_deref().unwrap_or_default();
    let sentence = match detail.status {
        Status::Pending => return None,
        Status::Executing => format!("Approved by {by} {at}, and under way."),
        Status::Executed => format!("Approved by {by} {at}, and done."),
        Status::Failed => format!("Approved by {by} {at}, but not done, and nothing was changed. {refusal}"),
        Status::Rejected => format!("Rejected by {by} {at}. Nothing was changed."),
        Status::Withdrawn => format!("{} took it back {at}. Nothing was changed.", detail.agent),
        Status::Expired => {
            format!("Nobody decided until {until}. Nothing was changed; the agent can ask again.")
        }
        Status::Indeterminate => {
            format!("Approved by {by} {at}. Whether it was done is not known; a person has to look.")
        }
    };
    Some(sentence.trim_end().to_owned())
}

/// What stands over the others on the same record; nothing where there are none.
pub fn related_heading(detail: &Detail) -> Option<String> {
    match detail.related_open {
        0 if detail.related.is_empty() => None,
        0 => Some("Something was done on the same record just before.".to_owned()),
        1 => Some("There is another request on the same record.".to_owned()),
        many => Some(format!("There are {many} other requests on the same record.")),
    }
}

/// How one of these stands, in the middle of a sentence.
pub fn standing(other: &Named) -> String {
    match other.status {
        Status::Pending => "waiting too".to_owned(),
        decided => status(decided).to_lowercase(),
    }
}

/// That exactly the same was decided `when`, "25 h ago", as an earlier request.
pub fn repeat(earlier: &Named, when: &str) -> String {
    let once_more = match earlier.status {
        Status::Executed => " This one would do it once more.",
        _ => "",
    };
    let decided = status(earlier.status).to_lowercase();
    format!("Exactly the same was {decided} {when}, as an earlier request.{once_more}")
}

/// What makes it doubtful that a request can still be executed as it was asked for. `figures` says from when those are that
/// stand below: "today's".
pub fn doubts(detail: &Detail, figures: &str) -> Vec<String> {
    let mut doubts = Vec::new();
    if detail.status != Status::Pending {
        return doubts;
    }
    if detail.preview.is_none() {
        doubts.push("The record is no longer there. Approving would change nothing.".to_owned());
    } else if detail.changed {
        doubts.push(format!("The record changed after the request. The figures below are {figures}."));
    }
    if let Some(refusal) = &detail.refusal_today {
        doubts.push(format!("A rule would refuse this today: {}", refusal.message));
    }
    doubts
}

/// What stands over the changes, and over their first column, and the changes themselves.
pub fn effect(detail: &Detail) -> (&'static str, &'static str, &[Change]) {
    match &detail.preview {
        Some(preview) if detail.status == Status::Pending => ("What will change", "Now", &preview.changes),
        _ => ("What changed", "Before", &detail.changes),
    }
}
