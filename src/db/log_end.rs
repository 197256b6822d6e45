//! Where the audit log ends, for a reader who must miss nothing.

use std::collections::BTreeSet;

use diesel::{QueryableByName, RunQueryDsl, sql_query, sql_types};

use super::{Conn, QueryResult};

/// The end of the log at one moment.
///
/// On Postgres `seq` is given out at the insert, and events appear in the order of commits: one below the end may appear
/// later. Its transaction is one of those that were writing into the log, because an insert locks the table before it takes
/// a number, until the transaction is over.
pub struct LogEnd {
    /// No event up to that moment has a larger one, committed or not.
    pub seq: i64,
    /// Who was writing then, and may be still.
    writers: BTreeSet<String>,
}

#[derive(QueryableByName)]
struct Last {
    #[diesel(sql_type = sql_types::BigInt)]
    seq: i64,
}

#[derive(QueryableByName)]
struct Writer {
    #[diesel(sql_type = sql_types::Text)]
    transaction: String,
}

impl LogEnd {
    /// As it is now.
    pub fn now(conn: &mut Conn) -> QueryResult<Self> {
        let last = match conn {
            Conn::Sqlite(_) => "SELECT coalesce(max(seq), 0) AS seq FROM audit_events",
            Conn::Postgres(_) => "SELECT last_value AS seq FROM audit_events_seq_seq",
        };
        // Before the writers: whoever took one of these numbers is among them, or done.
        let seq = sql_query(last).get_result::<Last>(conn)?.seq;
        let writers = writers(conn)?;
        Ok(Self { seq, writers })
    }

    /// Whether all who were writing then are done. A transaction that begins after that reads every event up to the end
    /// that there will ever be.
    pub fn is_settled(&self, conn: &mut Conn) -> QueryResult<bool> {
        Ok(self.writers.is_empty() || self.writers.is_disjoint(&writers(conn)?))
    }
}

/// The transactions that hold the lock of an insert into the log. SQLite has one writer, whose events nobody sees before
/// they are committed in their order.
fn writers(conn: &mut Conn) -> QueryResult<BTreeSet<String>> {
    let Conn::Postgres(conn) = conn else { return Ok(BTreeSet::new()) };
    let writers = sql_query(
        "SELECT virtualtransaction AS transaction FROM pg_locks \
         WHERE granted AND mode = 'RowExclusiveLock' AND relation = 'audit_events'::regclass \
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    );
    Ok(writers.load::<Writer>(conn)?.into_iter().map(|writer| writer.transaction).collect())
}
