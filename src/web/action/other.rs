//! Another action beside the one that a page is about.

use crate::{
    db::Timestamp,
    web::when,
    workflow::{Named, wording},
};

/// Another action on the same record.
pub struct Other {
    pub href: String,
    pub summary: String,
    pub status: &'static str,
    pub status_word: &'static str,
    /// The same in the middle of a sentence, beside a request that waits.
    pub standing: String,
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
            status_word: wording::status(one.status),
            standing: wording::standing(one),
            agent: one.agent.clone(),
            asked: when::moment(one.action.requested_at, now),
            same_write: false,
        }
    }
}
