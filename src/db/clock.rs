//! The database's clock.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use chrono::{Datelike, DurationRound, SubsecRound, TimeDelta, Utc};
use diesel::{QueryableByName, RunQueryDsl, sql_query, sql_types};

use super::{Conn, QueryResult, Timestamp};
use crate::failpoint;

/// Reads the time from the database, so that all processes on one database agree.
///
/// On SQLite every process shares the machine, whose clock it is. Tests move time by an offset.
#[derive(Clone, Default)]
pub struct Clock {
    offset_micros: Arc<AtomicI64>,
}

/// A time from outside, as both backends store and compare it: four-digit years and whole microseconds.
pub fn comparable(at: Timestamp) -> Option<Timestamp> {
    Some(at.trunc_subsecs(6)).filter(|at| (1..=9999).contains(&at.year()))
}

#[derive(QueryableByName)]
struct Now {
    #[diesel(sql_type = sql_types::Timestamp)]
    now: Timestamp,
}

impl Clock {
    /// The time at this statement, not at the transaction's start: a wait for a lock must not let a late decision through.
    pub fn now(&self, conn: &mut Conn) -> QueryResult<Timestamp> {
        let now = match conn {
            Conn::Sqlite(_) => {
                Utc::now().naive_utc().duration_trunc(TimeDelta::microseconds(1)).unwrap_or_default()
            }
            Conn::Postgres(_) => {
                sql_query("SELECT clock_timestamp() AT TIME ZONE 'UTC' AS now")
                    .get_result::<Now>(conn)?
                    .now
            }
        };
        let offset = self.offset_micros.load(Ordering::SeqCst) + failpoint::clock_offset();
        Ok(now + TimeDelta::microseconds(offset))
    }

    /// Moves this process's idea of the database's clock. For tests only.
    pub fn shift(&self, by: TimeDelta) {
        self.offset_micros.fetch_add(by.num_microseconds().unwrap_or_default(), Ordering::SeqCst);
    }
}
