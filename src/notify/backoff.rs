//! How long a delivery that failed waits for its next try.

use chrono::TimeDelta;

/// The wait after the first failure; each further one is twice as long.
const FIRST: TimeDelta = TimeDelta::seconds(30);
/// The shortest wait, however little time is left.
const SHORTEST: TimeDelta = TimeDelta::seconds(15);
/// The longest wait.
const LONGEST: TimeDelta = TimeDelta::hours(6);
/// For how long a message is tried.
pub const GIVE_UP: TimeDelta = TimeDelta::days(3);

/// The wait after `attempts` tries, a quarter longer or shorter, so that what failed together does not come back together;
/// but at most a quarter of the time left to decide, if the message tells of a request.
pub fn wait(attempts: i64, left: Option<TimeDelta>) -> TimeDelta {
    let doublings = u32::try_from((attempts - 1).clamp(0, 20)).unwrap_or_default();
    let wait = FIRST.checked_mul(1 << doublings).map_or(LONGEST, |wait| wait.min(LONGEST));
    let wait = wait * fastrand::i32(75..=125) / 100;
    left.map_or(wait, |left| wait.min((left / 4).max(SHORTEST)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_request_is_told_of_while_it_can_be_decided() {
        assert_eq!(wait(9, Some(TimeDelta::minutes(20))), TimeDelta::minutes(5));
        assert_eq!(wait(9, Some(TimeDelta::seconds(8))), SHORTEST);
        assert_eq!(wait(9, Some(TimeDelta::minutes(-1))), SHORTEST);
    }
}
