//! Another action beside the one that a page is about.

use crate::{
    db::Timestamp,
    store::actions::Status,
    web::{when, words},
    workflow::{Related, Waiting},
};

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

    /// As the action's page lists it.
    pub fn of(related: &Related, now: Timestamp) -> Self {
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
