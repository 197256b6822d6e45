//! What happened to an action so far, in sentences.

use crate::{
    db::Timestamp,
    web::{when, words},
    workflow::Happening,
};

/// One line of the story.
pub struct Line {
    pub time: String,
    /// For machines.
    pub datetime: String,
    pub who: String,
    pub what: String,
}

/// The story, oldest first. That an agent looked at the status is left out.
pub fn tell(happenings: &[Happening], now: Timestamp) -> Vec<Line> {
    let line = |happening: &Happening| {
        Some(Line {
            time: when::short(happening.at, now),
            datetime: when::machine(happening.at),
            who: happening.who.clone(),
            what: sentence(happening)?,
        })
    };
    happenings.iter().filter_map(line).collect()
}

/// How often it was asked for again while it waited, and when last.
pub fn asked_again(happenings: &[Happening]) -> Option<(usize, Timestamp)> {
    let again: Vec<_> = happenings.iter().filter(|one| is_call(one, "joined")).collect();
    again.last().map(|last| (again.len(), last.at))
}

fn is_call(happening: &Happening, outcome: &str) -> bool {
    happening.event == "tool_call" && happening.outcome == outcome && !happening.denied
}

fn sentence(happening: &Happening) -> Option<String> {
    let outcome = happening.outcome.as_str();
    let code = outcome.replace('_', " ");
    let told = match (happening.event.as_str(), outcome, happening.denied) {
        ("tool_call", "ok", _) => return None,
        ("tool_call", _, true) => format!("was refused: {code}"),
        ("tool_call", "pending", _) => "asked for it".to_owned(),
        ("tool_call", "joined", _) => "asked again, still one request".to_owned(),
        ("tool_call", "replayed", _) => "asked again, and was told the outcome".to_owned(),
        ("tool_call", "withdrawn", _) => "took it back".to_owned(),
        ("tool_call", status, _) => {
            format!("wanted to take it back, too late: {}", words::status_name(status).to_lowercase())
        }
        ("approval", _, true) => format!("wanted to approve it: {code}"),
        ("approval", "executed", _) => "approved it, and it was done".to_owned(),
        ("approval", "failed", _) => "approved it, but a rule refused it: nothing was changed".to_owned(),
        ("rejection", _, true) => format!("wanted to reject it: {code}"),
        ("rejection", ..) => "rejected it".to_owned(),
        ("expiry", ..) => "Nobody decided in time".to_owned(),
        (event, ..) => format!("{}: {code}", event.replace('_', " ")),
    };
    Some(told)
}
