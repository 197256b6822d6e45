//! Other processes that write to the same SQLite file. It has one lock, for which one can only knock again and again: whoever
//! writes without a break would be the only one to get it.

use std::{
    thread,
    time::{Duration, Instant},
};

use diesel::{QueryableByName, RunQueryDsl, connection::SimpleConnection, sql_query, sql_types};

use super::{Conn, Prepare, QueryResult, conn::Mode, pool::CHECKOUT, trouble};

/// For how long after its last write a process is taken to want to write again.
const NEAR: Duration = Duration::from_secs(1);
/// The break for them between two transactions: longer than it takes to knock twice.
const BREAK: Duration = Duration::from_millis(3);

/// Begins to write, knocking every millisecond for as long as anybody waits for a connection.
pub(super) fn knock(conn: &mut Conn) -> QueryResult<()> {
    conn.batch_execute("PRAGMA busy_timeout = 1")?;
    let patience = Instant::now() + CHECKOUT;
    while let Err(error) = conn.begin(Mode::Write) {
        if !trouble::is_locked(&error) || Instant::now() > patience {
            return Err(error);
        }
    }
    Ok(())
}

/// What is known of them.
#[derive(Default)]
pub(super) struct Neighbours {
    /// Changes when anybody else commits.
    version: Option<i64>,
    wrote: Option<Instant>,
}

impl Neighbours {
    /// Begins to write.
    pub(super) fn begin(&mut self, conn: &mut Conn) -> QueryResult<()> {
        knock(conn)?;
        self.look(conn)
    }

    fn look(&mut self, conn: &mut Conn) -> QueryResult<()> {
        #[derive(QueryableByName)]
        struct Row {
            #[diesel(sql_type = sql_types::BigInt)]
            data_version: i64,
        }
        let version = sql_query("PRAGMA data_version").prepared().get_result::<Row>(conn)?.data_version;
        if self.version.replace(version).is_some_and(|before| before != version) {
            self.wrote = Some(Instant::now());
        }
        Ok(())
    }

    /// Leaves them a gap, if there are any.
    pub(super) fn make_way(&self) {
        if self.wrote.is_some_and(|at| at.elapsed() < NEAR) {
            thread::sleep(BREAK);
        }
    }
}
