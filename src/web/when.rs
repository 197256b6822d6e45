//! Times for people: in UTC, and said as one would say them.

use chrono::{Days, TimeDelta};

use crate::db::Timestamp;

/// "today at 10:41", "yesterday at 10:41", "6 Dec 2025 at 10:41".
pub fn moment(at: Timestamp, now: Timestamp) -> String {
    let time = at.format("%H:%M");
    if at.date() == now.date() {
        return format!("today at {time}");
    }
    if now.date().checked_sub_days(Days::new(1)) == Some(at.date()) {
        return format!("yesterday at {time}");
    }
    format!("{} at {time}", day(at))
}

/// "6 Dec 2025".
pub fn day(at: Timestamp) -> String {
    at.format("%-d %b %Y").to_string()
}

/// "6 Dec 2025, 10:41".
pub fn full(at: Timestamp) -> String {
    at.format("%-d %b %Y, %H:%M").to_string()
}

/// As a column of times shows it: "10:41" today, else "6 Dec, 10:41".
pub fn short(at: Timestamp, now: Timestamp) -> String {
    if at.date() == now.date() {
        return at.format("%H:%M").to_string();
    }
    if now - at < TimeDelta::days(300) {
        return at.format("%-d %b, %H:%M").to_string();
    }
    full(at)
}

/// How long ago it was: "25 h ago".
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    let (minutes, hours, days) = ((now - at).num_minutes(), (now - at).num_hours(), (now - at).num_days());
    match () {
        () if minutes < 1 => "just now".to_owned(),
        () if hours < 2 => format!("{minutes} min ago"),
        () if days < 2 => format!("{hours} h ago"),
        () => format!("{days} days ago"),
    }
}

/// For machines, in a `datetime` attribute.
pub fn machine(at: Timestamp) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// How much time is left: "4 min left". `static/countersign.js` says the same as time goes by.
pub fn left(left: TimeDelta) -> String {
    let (minutes, hours, days) = (left.num_minutes(), left.num_hours(), left.num_days());
    match () {
        () if left <= TimeDelta::zero() => "time is up".to_owned(),
        () if minutes < 1 => "under a minute left".to_owned(),
        () if hours < 2 => format!("{minutes} min left"),
        () if days < 2 => format!("{hours} h left"),
        () => format!("{days} days left"),
    }
}

/// Whether so little time is left that it should be read first.
pub fn is_soon(left: TimeDelta) -> bool {
    left < TimeDelta::minutes(5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn moments() {
        let now = at("2026-11-29T13:30:00");
        assert_eq!(moment(at("2026-11-29T00:05:00"), now), "today at 00:05");
        assert_eq!(moment(at("2026-11-28T23:59:59"), now), "yesterday at 23:59");
        assert_eq!(moment(at("2025-12-06T15:36:16"), now), "6 Dec 2025 at 15:36");
        assert_eq!(short(at("2026-11-29T10:41:00"), now), "10:41");
        assert_eq!(short(at("2026-11-02T10:41:00"), now), "2 Nov, 10:41");
        assert_eq!(short(at("2025-12-06T10:41:00"), now), "6 Dec 2025, 10:41");
        assert_eq!(machine(now), "2026-11-29T13:30:00Z");
    }

    #[test]
    fn time_left() {
        let said = |seconds| left(TimeDelta::seconds(seconds));
        assert_eq!(said(-3), "time is up");
        assert_eq!(said(59), "under a minute left");
        assert_eq!(said(4 * 60 + 59), "4 min left");
        assert_eq!(said(119 * 60), "119 min left");
        assert_eq!(said(3 * 3600), "3 h left");
        assert_eq!(said(50 * 3600), "2 days left");
        assert!(is_soon(TimeDelta::minutes(4)) && !is_soon(TimeDelta::minutes(5)));
    }
}
