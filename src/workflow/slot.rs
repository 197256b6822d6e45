//! What a repeated request gets: the table of slot states.

use chrono::TimeDelta;

use super::view::Disposition;
use crate::{
    db::Timestamp,
    store::actions::{Action, Status},
};

/// What a request does, given the slot's current action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// Answers with the current action.
    Answer(Disposition),
    /// Opens the next action, linked to the current one if there is one.
    Open,
}

/// The course for a slot whose action is as it stands at `now`. A derived key stops replaying when `window` has passed
/// since the decision; an explicit key never does.
pub(super) fn course(current: Option<&Action>, explicit: bool, window: TimeDelta, now: Timestamp) -> Course {
    let Some(action) = current else { return Course::Open };
    match action.status_at(now) {
        Status::Pending | Status::Executing | Status::Indeterminate => Course::Answer(Disposition::Joined),
        Status::Executed | Status::Rejected => {
            let over = action.decided_at.is_some_and(|decided_at| decided_at + window <= now);
            if over && !explicit {
                Course::Open
            } else {
                Course::Answer(Disposition::Replayed)
            }
        }
        Status::Failed | Status::Expired | Status::Withdrawn => Course::Open,
    }
}
