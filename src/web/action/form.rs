//! The form of a decision, and what it asks once more after a refusal.

use crate::{
    error::{Code, Denial},
    web::choice::Choice,
    workflow::Detail,
};

/// What the decision's form holds.
pub struct Decide {
    pub subject_versions: String,
    /// "Approve INR 8,999.00".
    pub approve: String,
    /// Ids of equal requests, separated by commas, that the approver has acknowledged.
    pub acknowledge: String,
    /// What to tick before approving, after a refusal: a second click on the same place then decides nothing.
    pub question: Option<Tick>,
    /// Approving is not possible just now.
    pub paused: bool,
    /// What was typed before the page came back.
    pub note: String,
    /// What is wrong with it.
    pub note_error: Option<String>,
    /// What of the queue is shown, to come back to.
    pub choice: Choice,
}

/// A field that is only sent when its box is ticked.
pub struct Tick {
    pub field: &'static str,
    pub value: String,
    pub label: &'static str,
}

impl Decide {
    /// Asks what has to be answered before another try can do better than the one that was refused.
    pub fn ask(&mut self, denial: &Denial) {
        self.question = match denial.code {
            Code::RelatedActions if !denial.related.is_empty() => {
                self.approve.push_str(" as well");
                let known = std::mem::take(&mut self.acknowledge);
                let ids = denial.related.iter().map(String::as_str).chain([&*known]);
                Some(Tick {
                    field: "acknowledge",
                    value: ids.filter(|id| !id.is_empty()).collect::<Vec<_>>().join(","),
                    label: "I know of the other request, and mean this one as well.",
                })
            }
            Code::SubjectChanged | Code::DigestMismatch => Some(Tick {
                field: "subject_versions",
                value: std::mem::take(&mut self.subject_versions),
                label: "I have looked at it as it stands now.",
            }),
            _ => None,
        };
    }
}

/// The figure, where it says what the action does ("Refund INR 8,999.00 …"); beside a cancellation it is only what the
/// order is worth.
pub fn approve(detail: &Detail) -> String {
    let (summary, figure) = (&detail.action.summary, &detail.action.figure);
    if !figure.is_empty() && summary.contains(figure) {
        return format!("Approve {figure}");
    }
    format!("Approve {}", detail.kind_title.to_lowercase())
}
