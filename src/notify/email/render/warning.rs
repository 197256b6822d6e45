//! What to know before deciding.

use super::{super::super::Letter, reader};
use crate::{
    store::actions::Status,
    workflow::{Detail, Named, wording},
};

/// How many others each action of several names: a flood on one record would name all of them each time.
const SHOWN: usize = 3;

/// Something to know before deciding.
pub struct Warning {
    /// Whether it is rare and must be read.
    pub grave: bool,
    pub heading: String,
    pub lines: Vec<String>,
}

impl Warning {
    fn new(grave: bool, heading: impl Into<String>) -> Self {
        Self {
            grave,
            heading: heading.into(),
            lines: Vec::new(),
        }
    }
}

/// Everything to know; nothing once it is decided.
pub fn warnings(detail: &Detail, letter: &Letter) -> Vec<Warning> {
    if detail.status != Status::Pending {
        return Vec::new();
    }
    let repeats = detail.repeats.iter().filter_map(|earlier| repeat(detail, earlier));
    let doubts = wording::doubts(detail, "from when this mail was sent");
    let doubts = doubts.into_iter().map(|doubt| Warning::new(false, doubt));
    related(detail, letter).into_iter().chain(repeats).chain(doubts).collect()
}

fn related(detail: &Detail, letter: &Letter) -> Option<Warning> {
    let heading = wording::related_heading(detail)?;
    let line = |one: &Named| {
        let (asked, standing) = (reader::moment(one.action.requested_at, letter), wording::standing(one));
        let line = format!("{} by {}, asked on {asked}: {standing}.", one.action.summary, one.agent);
        if one.action.is_same_write(&detail.action) {
            return format!("{line} {}", wording::SAME_WRITE);
        }
        line
    };
    let shown = if letter.told.len() > 1 { SHOWN } else { usize::MAX };
    let mut lines: Vec<_> = detail.related.iter().take(shown).map(line).collect();
    let more = detail.related.len().saturating_sub(shown) + detail.related_left_out;
    if more > 0 {
        lines.push(format!("And {more} more."));
    }
    Some(Warning {
        lines,
        ..Warning::new(true, heading)
    })
}

fn repeat(detail: &Detail, earlier: &Named) -> Option<Warning> {
    let span = reader::span(detail.now - earlier.action.decided_at?);
    let heading = wording::repeat(earlier, &format!("{span} before this mail"));
    Some(Warning::new(earlier.status == Status::Executed, heading))
}
