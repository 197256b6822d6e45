//! One action as a letter shows it: what, what it would change, why, on what.

use super::{
    super::super::{Letter, Told},
    facts::{self, Part},
    outcome::{Outcome, outcome},
    reader::{moment, moment_in_zone, span},
    warning::{Warning, warnings},
};
use crate::{
    kinds::Change,
    text,
    workflow::{Detail, wording},
};

/// One action.
pub struct Card {
    pub summary: String,
    pub tag: &'static str,
    /// ok, bad, warn or plain.
    pub tone: &'static str,
    pub agent: String,
    /// To whom the agent belongs.
    pub owner: Option<String>,
    /// When it asked.
    pub asked: String,
    /// While it waits: the end of that.
    pub expires: Option<Expiry>,
    pub outcome: Option<Outcome>,
    pub warnings: Vec<Warning>,
    pub effect: Effect,
    /// What is shown in place of what is no longer kept.
    pub dropped: Option<String>,
    pub reason: String,
    /// What a reader must be told of the reason's characters.
    pub remark: String,
    pub facts: Vec<Part>,
    /// The action's page.
    pub url: String,
}

/// Until when it can be decided.
pub struct Expiry {
    /// "Sun 29 Nov at 16:11 (Asia/Kolkata)".
    pub at: String,
    /// "4 hours".
    pub left: String,
    /// Whether half of the time is over.
    pub again: bool,
}

/// The table of what changes.
pub struct Effect {
    pub heading: &'static str,
    pub now: &'static str,
    pub rows: Vec<Row>,
}

impl Effect {
    /// The lines that change, where there are any.
    pub fn in_short(&self) -> Vec<&Row> {
        let changed: Vec<_> = self.rows.iter().filter(|row| row.changed).collect();
        if changed.is_empty() { self.rows.iter().collect() } else { changed }
    }

    /// Every line, or those in short.
    pub fn shown(&self, in_short: bool) -> Vec<&Row> {
        if in_short { self.in_short() } else { self.rows.iter().collect() }
    }
}

/// One line of it.
pub struct Row {
    pub what: String,
    pub now: String,
    /// Empty for what stays.
    pub after: String,
    pub changed: bool,
}

impl Card {
    /// A card for what is about an action.
    pub fn of(told: &Told, letter: &Letter) -> Option<Self> {
        let detail = told.action()?;
        let action = &detail.action;
        let expires = matches!(told, Told::Waits { .. }).then(|| Expiry {
            at: moment_in_zone(action.expires_at, letter),
            left: span(action.expires_at - letter.now),
            again: matches!(told, Told::Waits { again: true, .. }),
        });
        Some(Self {
            summary: action.summary.clone(),
            tag: wording::status(detail.status),
            tone: wording::tone(detail.status),
            agent: detail.agent.clone(),
            owner: detail.agent_owner.clone(),
            asked: moment(action.requested_at, letter),
            expires,
            outcome: outcome(detail, letter),
            warnings: warnings(detail, letter),
            effect: effect(detail),
            dropped: detail.view.dropped.clone(),
            reason: action.reason.clone(),
            remark: text::remark(&action.reason),
            facts: detail.preview.as_ref().map(|preview| facts::parts(&preview.facts)).unwrap_or_default(),
            url: detail.view.review_url.clone(),
        })
    }
}

fn effect(detail: &Detail) -> Effect {
    let (heading, now, changes) = wording::effect(detail);
    let row = |change: &Change| Row {
        what: change.what.clone(),
        now: change.now.clone(),
        after: change.after.clone(),
        changed: !change.after.is_empty() && change.after != change.now,
    };
    Effect {
        heading,
        now,
        rows: changes.iter().map(row).collect(),
    }
}
