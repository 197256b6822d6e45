//! What to know before deciding.

use super::{super::super::Letter, reader};
use crate::{
    store::actions::Status,
    workflow::{Detail, Named},
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
    let mut warnings: Vec<_> = related(detail, letter).into_iter().chain(repeats).collect();
    if detail.preview.is_none() {
        let gone = "The record is no longer there. Approving would change nothing.";
        warnings.push(Warning::new(false, gone));
    } else if detail.changed {
        let changed =
            "The record changed after the request. The figures below are from when this mail was sent.";
        warnings.push(Warning::new(false, changed));
    }
    if let Some(refusal) = &detail.refusal_today {
        let refused = format!("A rule would refuse this today: {}", refusal.message);
        warnings.push(Warning::new(false, refused));
    }
    warnings
}

fn related(detail: &Detail, letter: &Letter) -> Option<Warning> {
    let heading = match detail.related_open {
        0 if detail.related.is_empty() => return None,
        0 => "Something was done on the same record just before.".to_owned(),
        1 => "There is another request on the same record.".to_owned(),
        many => format!("There are {many} other requests on the same record."),
    };
    let line = |one: &Named| {
        let status = match one.status {
            Status::Pending => "waiting too",
            Status::Executing => "under way",
            status => status.as_str(),
        };
        let same = if one.action.is_same_write(&detail.action) {
            " It is exactly the same write."
        } else {
            ""
        };
        let asked = reader::moment(one.action.requested_at, letter);
        format!("{} by {}, asked on {asked}: {status}.{same}", one.action.summary, one.agent)
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
    let done = earlier.status == Status::Executed;
    let span = reader::span(detail.now - earlier.action.decided_at?);
    let once_more = if done { " This one would do it once more." } else { "" };
    let status = earlier.status.as_str();
    let heading =
        format!("Exactly the same was {status} {span} before this mail, as an earlier request.{once_more}");
    Some(Warning::new(done, heading))
}
