//! Time zones by their IANA names, as the program brings them along.

use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneName};

use crate::db::Timestamp;

/// A name in the data that is no place's.
const NOWHERE: &str = "Factory";

/// A time zone, with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Zone {
    pub const UTC: Self = Self(TimeZone::UTC);

    /// The zone of exactly this name.
    pub fn named(name: &str) -> Option<Self> {
        let zone = TimeZone::get(name).ok()?;
        (zone.iana_name() == Some(name) && name != NOWHERE).then_some(Self(zone))
    }

    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// What a clock in the zone shows.
    pub fn shown(&self, at: Timestamp) -> Timestamp {
        let offset = jiff::Timestamp::from_microsecond(at.and_utc().timestamp_micros())
            .map_or(Offset::UTC, |at| self.0.to_offset(at));
        at + difference(offset)
    }

    /// When a clock in the zone shows it: the first time of two, and where it is put forward past it, as if it were not yet.
    pub fn when(&self, shown: Timestamp) -> Timestamp {
        // A time of no zone is read as one of UTC, to get at its figures.
        let figures = jiff::Timestamp::from_microsecond(shown.and_utc().timestamp_micros())
            .map(|shown| Offset::UTC.to_datetime(shown));
        let offset =
            figures.map_or(Offset::UTC, |figures| match self.0.to_ambiguous_timestamp(figures).offset() {
                AmbiguousOffset::Unambiguous { offset: before }
                | AmbiguousOffset::Gap { before, .. }
                | AmbiguousOffset::Fold { before, .. } => before,
            });
        shown - difference(offset)
    }
}

fn difference(offset: Offset) -> chrono::TimeDelta {
    chrono::TimeDelta::seconds(i64::from(offset.seconds()))
}

/// The name of every zone.
pub fn names() -> impl Iterator<Item = TimeZoneName<'static>> {
    jiff::tz::db().available().filter(|name| name.as_str() != NOWHERE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_zones_and_nothing_else_is() {
        for name in names() {
            assert_eq!(Zone::named(name.as_str()).unwrap().name(), name.as_str());
        }
        assert!(names().count() > 400);
        for name in ["", "europe/berlin", "Mars/Olympus", "Etc/Unknown", NOWHERE, "UTC "] {
            assert_eq!(Zone::named(name), None, "{name}");
        }
    }

    #[test]
    fn a_clock_goes_forth_and_back() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        for (utc, shown) in [
            ("2026-01-05T12:00:00.000001", "2026-01-05T13:00:00.000001"),
            ("2026-07-05T12:00:00", "2026-07-05T14:00:00"),
            ("2046-07-05T12:00:00", "2046-07-05T14:00:00"),
            ("1850-01-01T00:00:00", "1850-01-01T00:53:28"),
        ] {
            assert_eq!(berlin.shown(at(utc)), at(shown));
            assert_eq!(berlin.when(at(shown)), at(utc));
        }
        assert_eq!(berlin.when(at("2026-03-29T02:30:00")), at("2026-03-29T01:30:00"), "there is none");
        assert_eq!(berlin.when(at("2026-10-25T02:30:00")), at("2026-10-25T00:30:00"), "there are two");
        assert_eq!(Zone::UTC.shown(Timestamp::MAX), Timestamp::MAX);
    }
}
