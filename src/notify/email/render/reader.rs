//! What a letter owes to its reader: times by their own clock, and why they get it.

use chrono::{Datelike, TimeDelta};

use super::{
    super::super::{Bundle, Letter, zone::Zone},
    gist::only_agent,
};
use crate::{db::Timestamp, store::people::Role};

/// What stands below every letter.
pub struct Footer {
    pub why: String,
    /// Whose clock the times are by.
    pub times: String,
    /// The page on which people choose what they are told.
    pub account: String,
    pub leave: Option<Leave>,
}

/// How to get no more of these.
pub struct Leave {
    pub label: String,
    pub url: String,
}

impl Footer {
    pub fn of(letter: &Letter) -> Self {
        let leave = letter.leave.clone().zip(letter.bundle.list());
        Self {
            why: why(letter),
            times: format!("Times without a zone are in {}.", letter.clock.zone.name()),
            account: format!("{}/account#mail", letter.dashboard),
            leave: leave.map(|(url, list)| Leave {
                label: format!("Get no more mails about {}", list.words()),
                url,
            }),
        }
    }
}

fn why(letter: &Letter) -> String {
    let role = match letter.to.role {
        Role::Owner => "an owner",
        Role::Approver => "an approver",
        Role::Auditor => "an auditor",
        Role::Viewer => "a viewer",
    };
    let because = match letter.bundle {
        Bundle::AtOnce | Bundle::Digest | Bundle::Reminders | Bundle::Expired if letter.to.role.decides() => {
            format!("you are {role}")
        }
        Bundle::AtOnce | Bundle::Digest | Bundle::Reminders | Bundle::Expired => {
            "you asked to be told of requests".to_owned()
        }
        Bundle::Outcomes if only_agent(letter).is_some() => "the agent belongs to you".to_owned(),
        Bundle::Outcomes => "the agents belong to you".to_owned(),
        Bundle::Undelivered => format!("you are {role}"),
        Bundle::SignIns | Bundle::Passwords => {
            return "This is about the safety of your own account, and is always sent.".to_owned();
        }
    };
    format!("You get this because {because}.")
}

/// "Sun 29 Nov at 16:11 (Asia/Kolkata)".
pub fn moment_in_zone(at: Timestamp, letter: &Letter) -> String {
    let zone = &letter.clock.zone;
    let zone = if *zone == Zone::UTC {
        " UTC".to_owned()
    } else {
        format!(" ({})", zone.name())
    };
    format!("{}{zone}", moment(at, letter))
}

/// "Sun 29 Nov at 16:11" by the reader's clock, with the year unless it is that of the letter.
pub fn moment(at: Timestamp, letter: &Letter) -> String {
    let (at, now) = (letter.clock.local(at), letter.clock.local(letter.now));
    let day = if at.year() == now.year() { "%a %-d %b" } else { "%a %-d %b %Y" };
    at.format(&format!("{day} at %H:%M")).to_string()
}

/// "4 hours".
pub fn span(time: TimeDelta) -> String {
    let rounded = |unit: i64| (time.num_seconds() + unit / 2) / unit;
    let (minutes, hours, days) = (rounded(60), rounded(3600), rounded(86_400));
    match () {
        () if minutes < 1 => "less than a minute".to_owned(),
        () if minutes == 1 => "one minute".to_owned(),
        () if minutes < 120 => format!("{minutes} minutes"),
        () if hours < 48 => format!("{hours} hours"),
        () => format!("{days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        let said = |seconds| span(TimeDelta::seconds(seconds));
        assert_eq!(said(0), "less than a minute");
        assert_eq!(said(29), "less than a minute");
        assert_eq!(said(89), "one minute");
        assert_eq!(said(119 * 60), "119 minutes");
        assert_eq!(said(2 * 3600 - 4), "2 hours");
        assert_eq!(said(4 * 3600 - 90), "4 hours");
        assert_eq!(said(47 * 3600), "47 hours");
        assert_eq!(said(3 * 86_400), "3 days");
    }
}
