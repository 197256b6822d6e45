//! The budget of an agent's new writes: GCRA on one row, so that all processes on one database share it.

use chrono::TimeDelta;

use crate::{
    db::{Clock, Conn, QueryResult, Timestamp},
    store::buckets,
};

/// A token bucket: one token every `interval`, `burst` of them at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteLimit {
    pub interval: TimeDelta,
    pub burst: u32,
}

impl WriteLimit {
    /// Takes a token inside the request's transaction, or answers the seconds until there is one. Holds the agent's bucket
    /// until the transaction ends.
    pub(super) fn take(self, conn: &mut Conn, agent_id: &str, clock: &Clock) -> QueryResult<Result<(), u64>> {
        let bucket = buckets::lock(conn, agent_id)?;
        let now = clock.now(conn)?;
        match self.next(bucket.arrival_at, now) {
            Ok(arrival_at) => buckets::set(conn, agent_id, arrival_at).map(|_| Ok(())),
            Err(seconds) => Ok(Err(seconds)),
        }
    }

    /// The generic cell rate algorithm: the arrival time after one more write, or the seconds to wait. A debt from under
    /// another limit counts as much as this one could have left at most.
    fn next(self, arrival_at: Timestamp, now: Timestamp) -> Result<Timestamp, u64> {
        let tolerance = self.interval * i32::try_from(self.burst).unwrap_or(i32::MAX);
        let next = arrival_at.clamp(now, now + tolerance) + self.interval;
        let wait = (next - now) - tolerance;
        if wait <= TimeDelta::zero() {
            return Ok(next);
        }
        let seconds = u64::try_from(wait.num_milliseconds()).unwrap_or_default().div_ceil(1000);
        Err(seconds.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_one_token_an_interval() {
        let limit = WriteLimit {
            interval: TimeDelta::seconds(6),
            burst: 3,
        };
        let start = Timestamp::default();
        let mut arrival_at = start;
        for _ in 0..3 {
            arrival_at = limit.next(arrival_at, start).expect("within the burst");
        }
        assert_eq!(limit.next(arrival_at, start), Err(6));
        let later = start + TimeDelta::milliseconds(5500);
        assert_eq!(limit.next(arrival_at, later), Err(1), "never told to come back at once");
        let next = limit.next(arrival_at, start + TimeDelta::seconds(6)).expect("one token has come back");
        assert_eq!(limit.next(next, start + TimeDelta::seconds(6)), Err(6));
        assert!(limit.next(arrival_at, start + TimeDelta::days(1)).is_ok(), "an old debt is forgotten");
    }

    #[test]
    fn a_limit_that_was_raised_is_in_force_at_once() {
        let raised = WriteLimit {
            interval: TimeDelta::seconds(2),
            burst: 15,
        };
        let (start, debt) = (Timestamp::default(), Timestamp::default() + TimeDelta::hours(100));
        assert_eq!(raised.next(debt, start), Err(2), "one token of the new limit");
    }
}
