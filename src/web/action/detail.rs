//! An action as its page shows it, from top to bottom: what, what changes, why, on what, what happened, exactly what.

use super::story::{self, Line};
use crate::{
    auth::Visitor,
    db::Timestamp,
    error::{Code, Denial},
    kinds::Change,
    store::actions::Status,
    text,
    web::{link, shell::Shell, when, words},
    workflow::{Detail, Related, Waiting},
};

/// How long after a decision its page leads on to the next one, in minutes.
const LEADS_ON_MINUTES: i64 = 5;

/// Everything the template shows.
pub struct Shown {
    pub id: String,
    pub summary: String,
    pub kind_title: String,
    /// The status's own name, for colours.
    pub status: &'static str,
    pub status_word: &'static str,
    /// While it waits.
    pub left: Option<Left>,
    pub agent: String,
    pub agent_owner: Option<String>,
    /// "Asked by … " goes on with this: "today at 10:41 UTC, asked again once at 10:42 · still one request".
    pub asked: String,
    /// What stood in the way of the decision that was just tried.
    pub refused: Option<String>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Others on the same record that are open, or were executed just before.
    pub related: Vec<Other>,
    /// What to say over them.
    pub related_heading: String,
    /// The same write, decided before.
    pub repeats: Option<Repeat>,
    /// What to know before deciding.
    pub notes: Vec<String>,
    pub effect: Effect,
    pub reason: String,
    /// What a reader must be told of the reason's characters.
    pub remark: String,
    /// HTML from the kind's own template.
    pub facts: Option<String>,
    /// The record's name and page, where there are no facts.
    pub record: Option<(String, String)>,
    pub earlier: Vec<Other>,
    pub story: Vec<Line>,
    pub params: String,
    /// What the agent asked for, where a person changed it since.
    pub requested_params: Option<String>,
    pub digest: String,
    /// The attempt before, which ended without effect.
    pub previous: Option<String>,
    pub decide: Option<Decide>,
    /// The next one that waits: its address and headline.
    pub next: Option<(String, String)>,
    /// Whether to lead on to it.
    pub leads_on: bool,
    /// The address of the queue, with its filter.
    pub back: String,
}

/// The time left to decide.
pub struct Left {
    pub text: String,
    pub seconds: i64,
}

/// The table of what changes.
pub struct Effect {
    pub heading: &'static str,
    pub now: &'static str,
    pub after: &'static str,
    pub changes: Vec<Change>,
}

/// How an action ended.
pub struct Outcome {
    /// ok, bad or plain.
    pub tone: &'static str,
    pub sentence: String,
    /// The approver's note, or the reason of a rejection: what the agent is told.
    pub told: Option<String>,
}

/// Another action on the same record.
pub struct Other {
    pub href: String,
    pub summary: String,
    pub status: &'static str,
    pub status_word: &'static str,
    pub agent: String,
    pub asked: String,
    pub same_write: bool,
}

/// An equal request that was decided before this one.
pub struct Repeat {
    /// "executed 25 h ago".
    pub what: String,
    pub href: String,
    /// Whether it was done, so that this one would do it once more.
    pub done: bool,
}

/// What the decision's form holds.
pub struct Decide {
    pub subject_versions: String,
    /// "Approve INR 8,999.00".
    pub approve: String,
    /// Ids of equal requests, separated by commas, that the approver has acknowledged.
    pub acknowledge: String,
    /// What to tick before approving, after a refusal: a second click on the same place then decides nothing.
    pub question: Option<Question>,
    /// Approving is not possible just now.
    pub paused: bool,
    /// What was typed before the page came back.
    pub note: String,
    /// What is wrong with it.
    pub note_error: Option<String>,
    pub kind: String,
}

/// A field that is only sent when its box is ticked.
pub struct Question {
    pub field: &'static str,
    pub value: String,
    pub label: &'static str,
}

impl Shown {
    /// The action for one visitor; `kind` is the queue's filter.
    pub fn of(detail: Detail, visitor: &Visitor, shell: &Shell, kind: &str) -> Self {
        let (action, now, status) = (&detail.action, detail.now, detail.status);
        let waiting = status == Status::Pending;
        let paused = shell.pauses(&action.kind, &action.agent_id);
        let decide = (waiting && visitor.person.role.decides()).then(|| Decide {
            subject_versions: serde_json::to_string(&detail.versions).expect("versions are JSON"),
            approve: approve(&detail),
            acknowledge: String::new(),
            question: None,
            paused,
            note: String::new(),
            note_error: None,
            kind: kind.to_owned(),
        });
        let just_decided = action.decided_by.as_ref() == Some(&visitor.person.id)
            && action.decided_at.is_some_and(|at| (now - at).num_minutes() < LEADS_ON_MINUTES);
        let other = |related: &Related| Other::of(related, now);
        Self {
            summary: action.summary.clone(),
            kind_title: detail.kind_title.clone(),
            status: status.as_str(),
            status_word: words::status(status),
            left: waiting.then(|| Left {
                text: when::left(detail.left),
                seconds: detail.left.num_seconds(),
            }),
            agent: detail.agent.clone(),
            agent_owner: detail.agent_owner.clone(),
            asked: asked(&detail),
            refused: None,
            outcome: outcome(&detail),
            related_heading: related_heading(&detail.related),
            related: if waiting { detail.related.iter().map(other).collect() } else { Vec::new() },
            repeats: detail.repeats.as_ref().filter(|_| waiting).map(|(other, at)| Repeat {
                what: format!("{} {}", other.status, when::ago(*at, now)),
                href: format!("/actions/{}", other.action_id),
                done: other.status == Status::Executed.as_str(),
            }),
            notes: notes(&detail, paused),
            effect: effect(&detail),
            reason: action.reason.clone(),
            remark: text::remark(&action.reason),
            facts: detail.preview.as_ref().map(|preview| preview.facts.clone()),
            record: record(&detail),
            earlier: detail.earlier.iter().map(other).collect(),
            story: story::tell(&detail.happenings, now),
            params: action.effective_params.clone(),
            requested_params: (action.requested_params != action.effective_params)
                .then(|| action.requested_params.clone()),
            digest: action.digest.clone(),
            previous: detail.without_effect.clone(),
            decide,
            next: None,
            leads_on: just_decided,
            back: if kind.is_empty() { "/".to_owned() } else { format!("/?kind={kind}") },
            id: action.id.clone(),
        }
    }

    /// Says what stood in the way of a decision, beside the form as it was filled in.
    pub fn refuse(&mut self, denial: Denial, note: String, acknowledged: String) {
        let about_note = denial.code == Code::InvalidParams;
        if let Some(decide) = &mut self.decide {
            decide.note = note;
            decide.note_error = about_note.then(|| denial.message.clone());
            decide.acknowledge = acknowledged;
            decide.ask(&denial);
        }
        self.refused = (!about_note).then_some(denial.message);
    }
}

impl Decide {
    fn ask(&mut self, denial: &Denial) {
        self.question = match denial.code {
            Code::RelatedActions => {
                self.approve.push_str(" as well");
                let known = std::mem::take(&mut self.acknowledge);
                let ids = denial.related.iter().map(String::as_str).chain([&*known]);
                Some(Question {
                    field: "acknowledge",
                    value: ids.filter(|id| !id.is_empty()).collect::<Vec<_>>().join(","),
                    label: "I know of the other request, and mean this one as well.",
                })
            }
            Code::SubjectChanged | Code::DigestMismatch => Some(Question {
                field: "subject_versions",
                value: std::mem::take(&mut self.subject_versions),
                label: "I have looked at it as it stands now.",
            }),
            _ => None,
        };
    }
}

impl Other {
    /// An action of a list.
    pub fn of_waiting(one: &Waiting, now: Timestamp) -> Self {
        Self {
            href: format!("/actions/{}", one.action.id),
            summary: one.action.summary.clone(),
            status: one.status.as_str(),
            status_word: words::status(one.status),
            agent: one.agent.clone(),
            asked: when::moment(one.action.requested_at, now),
            same_write: false,
        }
    }

    fn of(related: &Related, now: Timestamp) -> Self {
        let status: Status = related.status.parse().expect("a status came from one");
        let asked = related.requested_at.trim_end_matches('Z').parse().ok();
        Self {
            href: format!("/actions/{}", related.action_id),
            summary: related.summary.clone(),
            status: status.as_str(),
            status_word: words::status(status),
            agent: related.agent.clone(),
            asked: asked.map_or_else(String::new, |at| when::moment(at, now)),
            same_write: related.same_write,
        }
    }
}

fn asked(detail: &Detail) -> String {
    let first = format!("{} UTC", when::moment(detail.action.requested_at, detail.now));
    let Some((times, last)) = story::asked_again(&detail.happenings) else {
        return first;
    };
    let last = when::short(last, detail.now);
    match times {
        1 => format!("{first}, asked again once at {last} · still one request"),
        _ => format!("{first}, asked again {times} times, last at {last} · still one request"),
    }
}

/// The figure, where it says what the action does ("Refund INR 8,999.00 …"); beside a cancellation it is only what the
/// order is worth.
fn approve(detail: &Detail) -> String {
    let (summary, figure) = (&detail.action.summary, &detail.action.figure);
    if !figure.is_empty() && summary.contains(figure) {
        return format!("Approve {figure}");
    }
    format!("Approve {}", detail.kind_title.to_lowercase())
}

fn related_heading(related: &[Related]) -> String {
    let open = related.iter().filter(|one| one.status != Status::Executed.as_str()).count();
    match open {
        0 => "Something was done on the same record just before.".to_owned(),
        1 => "There is another request on the same record.".to_owned(),
        many => format!("There are {many} other requests on the same record."),
    }
}

fn record(detail: &Detail) -> Option<(String, String)> {
    let subject = detail.versions.keys().next().filter(|_| detail.preview.is_none())?;
    let (name, href) = link::record(subject);
    Some((name, href?))
}

fn notes(detail: &Detail, paused: bool) -> Vec<String> {
    if detail.status != Status::Pending {
        return Vec::new();
    }
    let mut notes = Vec::new();
    if paused {
        notes.push("An owner has paused this. It can be rejected; approving has to wait.".to_owned());
    }
    if detail.preview.is_none() {
        notes.push("The record is no longer there. Approving would change nothing.".to_owned());
    } else if detail.changed {
        notes.push("The record changed after the request. The figures below are today's.".to_owned());
    }
    if let Some(refusal) = &detail.refusal_today {
        notes.push(format!("A rule would refuse this today: {}", refusal.message));
    }
    notes
}

fn effect(detail: &Detail) -> Effect {
    match (&detail.preview, detail.status) {
        (Some(preview), Status::Pending) => Effect {
            heading: "What will change",
            now: "Now",
            after: "After",
            changes: preview.changes.clone(),
        },
        _ => Effect {
            heading: "What changed",
            now: "Before",
            after: "After",
            changes: detail.changes.clone(),
        },
    }
}

fn outcome(detail: &Detail) -> Option<Outcome> {
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
