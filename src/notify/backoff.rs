//! How long a delivery that failed waits for its next try.

use chrono::TimeDelta;

use super::timing::WallClock;
use crate::db::Timestamp;

/// The wait after the first failure; each further one is twice as long.
const FIRST: TimeDelta = TimeDelta::seconds(30);
/// The shortest wait, however little time is left.
const SHORTEST: TimeDelta = TimeDelta::seconds(15);
/// The longest wait.
const LONGEST: TimeDelta = TimeDelta::hours(6);
/// For how long a message is tried.
pub const GIVE_UP: TimeDelta = TimeDelta::days(3);

/// What the next try keeps to.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Until when the earliest of the requests can be decided that the message tells of.
    pub deadline: Option<Timestamp>,
    /// The clock whose quiet hours hold it back, if any do.
    pub quiet: Option<WallClock>,
    /// Until when they may.
    pub latest: Option<Timestamp>,
}

/// When to try again after `attempts` tries. Quiet hours hold a later try back as they do the first, and no longer.
pub fn next(attempts: i64, limits: &Limits, now: Timestamp) -> Timestamp {
    let soon = now + wait(attempts, limits.deadline.map(|deadline| deadline - now));
    let awake = limits.quiet.as_ref().map_or(soon, |clock| clock.after_quiet(soon));
    limits.latest.map_or(awake, |latest| awake.min(latest)).max(soon)
}

/// The wait after `attempts` tries, a quarter longer or shorter, so that what failed together does not come back together;
/// but at most a quarter of the time left to decide, if the message tells of a request.
fn wait(attempts: i64, left: Option<TimeDelta>) -> TimeDelta {
    let doublings = u32::try_from((attempts - 1).clamp(0, 20)).unwrap_or_default();
    let wait = FIRST.checked_mul(1 << doublings).map_or(LONGEST, |wait| wait.min(LONGEST));
    let wait = wait * fastrand::i32(75..=125) / 100;
    left.map_or(wait, |left| wait.min((left / 4).max(SHORTEST)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::preferences::Settings;

    #[test]
    fn waits_double_up_to_six_hours() {
        let within = |attempts: i64, seconds: i64| {
            for _ in 0..100 {
                let wait = wait(attempts, None);
                let spread = TimeDelta::seconds(seconds) / 4;
                assert!((wait - TimeDelta::seconds(seconds)).abs() <= spread, "{attempts}: {wait}");
            }
        };
        within(0, 30);
        within(1, 30);
        within(2, 60);
        within(5, 480);
        within(30, 6 * 3600);
        within(i64::MAX, 6 * 3600);
    }

    #[test]
    fn quiet_hours_hold_a_later_try_back_as_long_as_the_first() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-01-05T01:00:00");
        let night = WallClock::of(Some(&Settings {
            time_zone: "UTC".to_owned(),
            quiet_from: Some(22 * 60),
            quiet_until: Some(7 * 60),
        }));
        let next = |quiet: Option<&WallClock>, latest: Option<&str>| {
            let (deadline, latest) = (Some(at("2026-01-05T12:00:00")), latest.map(at));
            let limits = Limits {
                deadline,
                quiet: quiet.cloned(),
                latest,
            };
            super::next(1, &limits, now)
        };
        let soon = now..now + TimeDelta::minutes(1);
        assert!(soon.contains(&next(None, None)));
        assert_eq!(next(Some(&night), None), at("2026-01-05T07:00:00"));
        assert_eq!(next(Some(&night), Some("2026-01-05T09:00:00")), at("2026-01-05T07:00:00"));
        assert_eq!(next(Some(&night), Some("2026-01-05T03:00:00")), at("2026-01-05T03:00:00"));
        // Once it is late, tries follow one another as ever.
        assert!(soon.contains(&next(Some(&night), Some("2026-01-05T00:30:00"))));
    }

    #[test]
    fn a_request_is_told_of_while_it_can_be_decided() {
        assert_eq!(wait(9, Some(TimeDelta::minutes(20))), TimeDelta::minutes(5));
        assert_eq!(wait(9, Some(TimeDelta::seconds(8))), SHORTEST);
        assert_eq!(wait(9, Some(TimeDelta::minutes(-1))), SHORTEST);
    }
}
