//! What happened to an action so far, in sentences.

use crate::{
    db::Timestamp,
    web::{when, words},
    workflow::Happening,
};

/// One line of the story.
pub struct Line {
    /// How many before it are left out.
    pub left_out: i64,
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
            left_out: happening.left_out,
            time: when::short(happening.at, now),
            datetime: when::machine(happening.at),
            who: happening.who.clone(),
            what: sentence(happening)?,
        })
    };
    happenings.iter().filter_map(line).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn happening(event: &str, outcome: &str, denied: bool) -> Happening {
        Happening {
            left_out: 0,
            at: "2026-11-29T10:41:00".parse().expect("a time"),
            event: event.to_owned(),
            who: "support-agent".to_owned(),
            outcome: outcome.to_owned(),
            denied,
        }
    }

    #[test]
    fn every_event_of_an_action_has_a_sentence() {
        for (event, outcome, denied, expected) in [
            ("tool_call", "pending", false, "asked for it"),
            ("tool_call", "joined", false, "asked again, still one request"),
            ("tool_call", "replayed", false, "asked again, and was told the outcome"),
            ("tool_call", "withdrawn", false, "took it back"),
            ("tool_call", "executed", false, "wanted to take it back, too late: executed"),
            ("approval", "executed", false, "approved it, and it was done"),
            ("approval", "failed", false, "approved it, but a rule refused it: nothing was changed"),
            ("approval", "subject_changed", true, "wanted to approve it: subject changed"),
            ("rejection", "rejected", false, "rejected it"),
            ("rejection", "already_decided", true, "wanted to reject it: already decided"),
            ("expiry", "expired", false, "Nobody decided in time"),
        ] {
            assert_eq!(sentence(&happening(event, outcome, denied)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn looking_at_the_status_is_no_news() {
        let told = [
            happening("tool_call", "pending", false),
            happening("tool_call", "ok", false),
            happening("tool_call", "joined", false),
            happening("tool_call", "joined", false),
        ];
        assert_eq!(tell(&told, told[0].at).len(), 3);
    }
}
