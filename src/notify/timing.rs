//! When a person is told: digests at the marks of their own clock, quiet hours, and never too late to act.

use chrono::{NaiveTime, TimeDelta, Timelike};

use super::zone::Zone;
use crate::{
    db::Timestamp,
    store::{
        actions::Action,
        preferences::{Settings, Timing},
    },
};

/// What comes within this time of a message waits for the next, and goes with all that came in between: a flood is a few
/// messages, not hundreds.
pub const PACE: TimeDelta = TimeDelta::minutes(2);

/// A person's clock on the wall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WallClock {
    pub zone: Zone,
    /// From and until, in minutes of the day; it may go past midnight.
    quiet: Option<(u32, u32)>,
}

impl WallClock {
    /// By a person's settings. What they can't mean is taken for UTC.
    pub fn of(settings: Option<&Settings>) -> Self {
        let zone = settings.and_then(|settings| Zone::named(&settings.time_zone)).unwrap_or(Zone::UTC);
        let minute = |minute: Option<i32>| minute.and_then(|minute| u32::try_from(minute).ok());
        let quiet = settings.and_then(|settings| {
            Some((minute(settings.quiet_from)?, minute(settings.quiet_until)?))
                .filter(|(from, until)| from != until)
        });
        Self { zone, quiet }
    }

    /// When to tell of something new, quiet hours aside.
    pub fn due(&self, timing: Timing, now: Timestamp) -> Timestamp {
        match timing {
            Timing::AtOnce | Timing::Never => now,
            Timing::QuarterHourly => self.next_mark(now, 15),
            Timing::Hourly => self.next_mark(now, 60),
        }
    }

    /// The next time that the clock shows whole `minutes` of an hour.
    fn next_mark(&self, now: Timestamp, minutes: u32) -> Timestamp {
        let local = self.local(now);
        let past = TimeDelta::minutes(i64::from(local.minute() % minutes))
            + TimeDelta::seconds(i64::from(local.second()))
            + TimeDelta::nanoseconds(i64::from(local.nanosecond()));
        now - past + TimeDelta::minutes(i64::from(minutes))
    }

    /// The time itself, or the end of the quiet hours that it falls in.
    pub fn after_quiet(&self, at: Timestamp) -> Timestamp {
        let Some((from, until)) = self.quiet else { return at };
        let local = self.local(at);
        let minute = local.hour() * 60 + local.minute();
        let (quiet, tomorrow) = if from < until {
            (from <= minute && minute < until, false)
        } else {
            (minute >= from || minute < until, minute >= from)
        };
        if !quiet {
            return at;
        }
        let time = NaiveTime::from_hms_opt(until / 60, until % 60, 0).unwrap_or_default();
        let end = (local.date() + TimeDelta::days(i64::from(tomorrow))).and_time(time);
        self.zone.when(end).max(at)
    }

    /// What the clock shows.
    pub fn local(&self, at: Timestamp) -> Timestamp {
        self.zone.shown(at)
    }
}

/// The middle of the time in which an action can be decided.
pub fn half_time(action: &Action) -> Timestamp {
    action.requested_at + (action.expires_at - action.requested_at) / 2
}

/// When a quarter of it is left.
pub fn last_quarter(action: &Action) -> Timestamp {
    action.expires_at - (action.expires_at - action.requested_at) / 4
}

/// Not before the pace allows, nor in quiet hours; but not later than `latest`, and not in the past. What was begun in the
/// future, by a clock that was wrong, was begun just now.
pub fn paced(
    due: Timestamp,
    last_begun: Option<Timestamp>,
    quiet: Option<&WallClock>,
    latest: Option<Timestamp>,
    now: Timestamp,
) -> Timestamp {
    let due = last_begun.map_or(due, |begun| due.max(begun.min(now) + PACE));
    let due = quiet.map_or(due, |clock| clock.after_quiet(due));
    latest.map_or(due, |latest| due.min(latest)).max(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap()
    }

    fn clock(zone: &str, quiet: Option<(i32, i32)>) -> WallClock {
        WallClock::of(Some(&Settings {
            time_zone: zone.to_owned(),
            quiet_from: quiet.map(|(from, _)| from),
            quiet_until: quiet.map(|(_, until)| until),
        }))
    }

    #[test]
    fn digests_come_at_the_marks_of_the_persons_own_clock() {
        let utc = WallClock::of(None);
        assert_eq!(utc.due(Timing::QuarterHourly, at("2026-01-05 10:07:30")), at("2026-01-05 10:15:00"));
        assert_eq!(utc.due(Timing::Hourly, at("2026-01-05 10:00:00")), at("2026-01-05 11:00:00"));
        // Half past the hour in UTC is the full hour in India, and 15 to in Nepal.
        let india = clock("Asia/Kolkata", None);
        assert_eq!(india.due(Timing::Hourly, at("2026-01-05 10:07:30")), at("2026-01-05 10:30:00"));
        let nepal = clock("Asia/Kathmandu", None);
        assert_eq!(nepal.due(Timing::Hourly, at("2026-01-05 10:07:30")), at("2026-01-05 10:15:00"));
    }

    #[test]
    fn quiet_hours_go_past_midnight() {
        let berlin = clock("Europe/Berlin", Some((22 * 60, 7 * 60)));
        assert_eq!(berlin.after_quiet(at("2026-01-05 20:59:59")), at("2026-01-05 20:59:59"));
        assert_eq!(berlin.after_quiet(at("2026-01-05 21:00:00")), at("2026-01-06 06:00:00"));
        assert_eq!(berlin.after_quiet(at("2026-01-06 05:59:00")), at("2026-01-06 06:00:00"));
        assert_eq!(berlin.after_quiet(at("2026-01-06 06:00:00")), at("2026-01-06 06:00:00"));
        let noon = clock("UTC", Some((12 * 60, 13 * 60 + 30)));
        assert_eq!(noon.after_quiet(at("2026-01-05 12:00:00")), at("2026-01-05 13:30:00"));
        assert_eq!(noon.after_quiet(at("2026-01-05 13:30:00")), at("2026-01-05 13:30:00"));
    }

    #[test]
    fn a_night_that_is_an_hour_shorter_or_longer_ends_by_the_clock_on_the_wall() {
        let berlin = clock("Europe/Berlin", Some((22 * 60, 7 * 60)));
        assert_eq!(berlin.after_quiet(at("2026-03-28 22:00:00")), at("2026-03-29 05:00:00"));
        assert_eq!(berlin.after_quiet(at("2026-10-24 21:00:00")), at("2026-10-25 06:00:00"));
        // 02:30 does not exist in that night.
        let early = clock("Europe/Berlin", Some((22 * 60, 2 * 60 + 30)));
        assert_eq!(early.after_quiet(at("2026-03-28 22:00:00")), at("2026-03-29 01:30:00"));
    }

    #[test]
    fn a_zone_that_is_none_is_utc() {
        assert_eq!(clock("Mars/Olympus", None), WallClock::of(None));
    }

    #[test]
    fn the_pace_gives_way_to_the_latest_time() {
        let (now, begun) = (at("2026-01-05 10:00:00"), Some(at("2026-01-05 09:59:00")));
        assert_eq!(paced(now, None, None, None, now), now);
        assert_eq!(paced(now, begun, None, None, now), at("2026-01-05 10:01:00"));
        let wrong = Some(at("2027-11-05 10:00:00"));
        assert_eq!(paced(now, wrong, None, None, now), now + PACE);
        assert_eq!(paced(now, begun, None, Some(at("2026-01-05 10:00:20")), now), at("2026-01-05 10:00:20"));
        assert_eq!(paced(now, begun, None, Some(at("2026-01-05 09:00:00")), now), now);
    }
}
