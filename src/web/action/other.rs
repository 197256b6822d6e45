//! Another action beside the one that a page is about.

use crate::{
    db::Timestamp,
    web::{when, words},
    workflow::Named,
};

/// Another action on the same record.
pub struct Other {
    pub href: String,
    pub summary: String,
    pub status: &'static str,
    pub status_word: &'static str,
    pub agent: String,
    pub asked: String,
    /// Whether it is known to ask for exactly the same write.
    pub same_write: bool,
}

impl Other {
    /// An action of a list.
    pub fn of(one: &Named, now: Timestamp) -> Self {
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
}
