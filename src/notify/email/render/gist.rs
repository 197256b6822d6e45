//! What a letter comes to: its subject, what a list of mails shows beside it, and its heading.

use chrono::TimeDelta;

use super::{
    super::super::{Bundle, Letter, Told},
    line,
    reader::{moment, moment_in_zone, span},
};
use crate::{
    store::actions::{Action, Status},
    workflow::Detail,
};

/// What a letter comes to.
pub struct Gist {
    /// As long as it is, and as others wrote it.
    pub subject: String,
    pub preheader: String,
    pub heading: Option<String>,
    pub lead: Option<String>,
    pub queue: Option<String>,
    pub left_out: Option<String>,
}

impl Gist {
    pub fn of(letter: &Letter) -> Self {
        match letter.told.as_slice() {
            [told] if letter.left_out.is_empty() => told
                .action()
                .map_or_else(|| Self::of_account(letter, told), |detail| Self::of_one(letter, told, detail)),
            [first, ..] if first.action().is_none() => Self::of_account(letter, first),
            _ => Self::of_many(letter),
        }
    }

    /// About one action.
    fn of_one(letter: &Letter, told: &Told, detail: &Detail) -> Self {
        let by = detail.view.decision.as_ref().map_or("somebody", |decision| decision.by.as_str());
        let until = moment_in_zone(detail.action.expires_at, letter);
        let preheader = match told {
            Told::Waits { again: true, .. } => {
                format!("Half of the time is over. {} waits for a decision until {until}.", detail.agent)
            }
            Told::Waits { .. } => format!("{} waits for a decision until {until}.", detail.agent),
            Told::Expired(_) => format!("Nobody decided until {until}. Nothing was changed."),
            _ => format!("{} by {by}; {} had asked.", decided(detail), detail.agent),
        };
        Self {
            subject: detail.action.summary.clone(),
            preheader,
            heading: None,
            lead: None,
            queue: None,
            left_out: None,
        }
    }

    /// About several actions.
    fn of_many(letter: &Letter) -> Self {
        let (count, agent) = (letter.told.len() + letter.left_out.len(), only_agent(letter));
        let expired = letter.told.iter().filter(|told| matches!(told, Told::Expired(_))).count();
        // What became of those that are only counted is not known here.
        let all_are_known = letter.left_out.is_empty();
        let waits = matches!(letter.bundle, Bundle::AtOnce | Bundle::Digest | Bundle::Reminders);
        let from = agent.map_or_else(String::new, |agent| format!(" from {agent}"));
        let subject = match letter.bundle {
            Bundle::Reminders => format!("{count} requests{from} still wait for a decision"),
            Bundle::Expired => format!("{count} requests{from} expired without a decision"),
            Bundle::Outcomes if all_are_known && expired == letter.told.len() => {
                format!("{count} requests{from} expired without a decision")
            }
            Bundle::Outcomes if all_are_known && expired == 0 => {
                format!("{count} requests{from} were decided")
            }
            Bundle::Outcomes => format!("{count} requests{from} were decided, or expired"),
            _ => match agent {
                Some(agent) => format!("{count} requests {} from {agent}", within(duration(letter))),
                None => format!("{count} requests wait for a decision"),
            },
        };
        let expires = |told: &Told| told.action().map(|detail| detail.action.expires_at);
        let first = letter.told.iter().filter_map(expires).min().unwrap_or(letter.now);
        let lead = match letter.bundle {
            _ if waits => format!("The first of them expires on {}.", moment_in_zone(first, letter)),
            Bundle::Expired => "Nothing was changed. The agents can ask again.".to_owned(),
            _ => summaries(letter),
        };
        Self {
            heading: Some(subject.clone()),
            subject,
            preheader: lead.clone(),
            lead: (letter.bundle != Bundle::Outcomes).then_some(lead),
            queue: waits.then(|| format!("{}/", letter.dashboard)),
            left_out: left_out(letter),
        }
    }

    /// About no action.
    fn of_account(letter: &Letter, told: &Told) -> Self {
        let count = letter.told.len() + letter.left_out.len();
        let (subject, preheader) = match told {
            Told::SignedIn { .. } if count > 1 => {
                (format!("{count} new sign-ins to your account"), "From places that are new.".to_owned())
            }
            Told::SignedIn { at, address } => (
                "New sign-in to your account".to_owned(),
                format!("From {address} on {}.", moment(*at, letter)),
            ),
            Told::PasswordChanged { at } => {
                ("Your password was changed".to_owned(), format!("On {}.", moment(*at, letter)))
            }
            Told::Undelivered { to, words, .. } if count == 1 => {
                (format!("A mail to {to} could not be delivered"), format!("What went wrong: {words}"))
            }
            _ => (
                format!("{count} mails could not be delivered"),
                "They were given up, and can be tried again.".to_owned(),
            ),
        };
        Self {
            heading: Some(line::one(&subject)),
            subject,
            preheader,
            lead: None,
            queue: None,
            left_out: left_out(letter),
        }
    }
}

/// The end of an action in two or three words.
fn decided(detail: &Detail) -> &'static str {
    match detail.status {
        Status::Executed => "Approved and done",
        Status::Failed => "Approved, but not done",
        Status::Rejected => "Rejected",
        _ => "Decided",
    }
}

/// The agent that asked for everything.
pub(super) fn only_agent(letter: &Letter) -> Option<&str> {
    let first = letter.told.iter().find_map(Told::action)?;
    let ids = letter.told.iter().map(|told| told.action().map(|detail| &detail.action.agent_id));
    let mut ids = ids.chain(letter.left_out.iter().map(|one| one.agent_id.as_ref()));
    ids.all(|id| id == Some(&first.action.agent_id)).then_some(&first.agent)
}

/// "within a minute", "in 4 hours".
fn within(time: TimeDelta) -> String {
    if time < TimeDelta::minutes(1) {
        return "within a minute".to_owned();
    }
    format!("in {}", span(time))
}

/// From the first request to the last.
fn duration(letter: &Letter) -> TimeDelta {
    let asked = letter.told.iter().filter_map(Told::action).map(|detail| detail.action.requested_at);
    let asked = asked.chain(letter.left_out.iter().map(|one| one.at));
    let (first, last) = (asked.clone().min(), asked.max());
    first.zip(last).map(|(first, last)| last - first).unwrap_or_default()
}

fn summaries(letter: &Letter) -> String {
    let actions = letter.told.iter().filter_map(Told::action).map(|detail| &detail.action);
    actions
        .map(|Action { summary, .. }| summary.as_str())
        .take(3)
        .collect::<Vec<_>>()
        .join(", ")
}

fn left_out(letter: &Letter) -> Option<String> {
    let where_to = match letter.bundle {
        Bundle::AtOnce | Bundle::Digest | Bundle::Reminders => "the queue shows them all",
        Bundle::Expired | Bundle::Outcomes => "the history shows them all",
        Bundle::Undelivered => "the deliveries page shows them all",
        Bundle::SignIns | Bundle::Passwords => "the account page shows where you are signed in",
    };
    match letter.left_out.len() {
        0 => None,
        1 => Some(format!("One more is not shown here; {where_to}.")),
        more => Some(format!("{more} more are not shown here; {where_to}.")),
    }
}
