//! An action as its page shows it, from top to bottom: what, what changes, why, on what, what happened, exactly what.

use super::{
    form::{Decide, approve},
    other::Other,
    outcome::{Outcome, outcome},
    story::{self, Line},
};
use crate::{
    auth::Visitor,
    db::Timestamp,
    error::{Code, Denial},
    kinds::Change,
    store::actions::Status,
    text,
    web::{choice::Choice, link, shell::Shell, when},
    workflow::{Detail, Named, Story, wording},
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
    /// How many more of these there are.
    pub related_left_out: usize,
    /// What to say over them.
    pub related_heading: String,
    /// The same write, decided before.
    pub repeats: Vec<Repeat>,
    /// What to know before deciding.
    pub notes: Vec<String>,
    pub effect: Effect,
    /// What is shown in place of changes, reason and params that are no longer kept.
    pub dropped: Option<String>,
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

/// An equal request that was decided before this one.
pub struct Repeat {
    /// That, and when.
    pub sentence: String,
    pub href: String,
    /// Whether it was done, so that this one would do it once more.
    pub done: bool,
}

impl Shown {
    /// The action for one visitor, beside a part of the queue.
    pub fn of(detail: &Detail, story: Story, visitor: &Visitor, shell: &Shell, choice: &Choice) -> Self {
        let (action, now, status) = (&detail.action, detail.now, detail.status);
        let waiting = status == Status::Pending;
        let paused = shell.pauses(&action.kind, &action.agent_id);
        let decide = (waiting && visitor.person.role.decides()).then(|| Decide {
            subject_versions: serde_json::to_string(&detail.versions).expect("versions are JSON"),
            approve: approve(detail),
            acknowledge: String::new(),
            question: None,
            paused,
            note: String::new(),
            note_error: None,
            choice: choice.clone(),
        });
        let just_decided = action.decided_by.as_ref() == Some(&visitor.person.id)
            && action.decided_at.is_some_and(|at| (now - at).num_minutes() < LEADS_ON_MINUTES);
        let related = |one: &Named| Other {
            same_write: one.action.is_same_write(action),
            ..Other::of(one, now)
        };
        let repeat = |one: &Named| Repeat::of(one, now);
        Self {
            summary: action.summary.clone(),
            kind_title: detail.kind_title.clone(),
            status: status.as_str(),
            status_word: wording::status(status),
            left: waiting.then(|| Left {
                text: when::left(detail.left),
                seconds: detail.left.num_seconds(),
            }),
            agent: detail.agent.clone(),
            agent_owner: detail.agent_owner.clone(),
            asked: asked(detail, &story),
            refused: None,
            outcome: outcome(detail),
            related_left_out: detail.related_left_out,
            related_heading: wording::related_heading(detail).unwrap_or_default(),
            related: if waiting { detail.related.iter().map(related).collect() } else { Vec::new() },
            repeats: detail.repeats.iter().filter_map(repeat).collect(),
            notes: notes(detail, paused),
            effect: effect(detail),
            dropped: action.pruned_at.map(|at| format!("Dropped on {}.", when::day(at))),
            reason: action.reason.clone(),
            remark: text::remark(&action.reason),
            facts: detail.preview.as_ref().map(|preview| preview.facts.clone()),
            record: record(detail),
            earlier: story.earlier.iter().map(|one| Other::of(one, now)).collect(),
            story: story::tell(&story.happenings, now),
            params: action.effective_params.clone(),
            requested_params: (action.requested_params != action.effective_params)
                .then(|| action.requested_params.clone()),
            digest: action.digest.clone(),
            previous: story.without_effect,
            decide,
            next: None,
            leads_on: just_decided,
            back: choice.keep("/"),
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

impl Repeat {
    /// Nothing for what nobody decided.
    fn of(one: &Named, now: Timestamp) -> Option<Self> {
        Some(Self {
            sentence: wording::repeat(one, &when::ago(one.action.decided_at?, now)),
            href: format!("/actions/{}", one.action.id),
            done: one.status == Status::Executed,
        })
    }
}

fn asked(detail: &Detail, story: &Story) -> String {
    let first = format!("{} UTC", when::moment(detail.action.requested_at, detail.now));
    let Some((times, last)) = story.asked_again else {
        return first;
    };
    let last = when::short(last, detail.now);
    match times {
        1 => format!("{first}, asked again once at {last} · still one request"),
        _ => format!("{first}, asked again {times} times, last at {last} · still one request"),
    }
}

fn record(detail: &Detail) -> Option<(String, String)> {
    let subject = detail.versions.keys().next().filter(|_| detail.preview.is_none())?;
    let (name, href) = link::record(subject);
    Some((name, href?))
}

fn notes(detail: &Detail, paused: bool) -> Vec<String> {
    let paused = (paused && detail.status == Status::Pending)
        .then(|| "This is paused. It can be rejected; approving has to wait.".to_owned());
    paused.into_iter().chain(wording::doubts(detail, "today's")).collect()
}

fn effect(detail: &Detail) -> Effect {
    let (heading, now, changes) = wording::effect(detail);
    Effect {
        heading,
        now,
        after: "After",
        changes: changes.to_vec(),
    }
}
