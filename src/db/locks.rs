//! What SQL the two backends spell differently.

use diesel::{RunQueryDsl, sql_query};

use super::{Conn, QueryResult};

/// A lock that no row stands for. Whoever waits for it is served in turn: one who wants it alone is not overtaken by ever
/// more who share it, as with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Latch {
    /// Shared by whoever acts on what is paused or not, held alone by whoever changes that.
    Pauses,
}

impl Latch {
    /// Holds the lock beside others until the transaction ends. On SQLite there is one writer, who holds everything.
    pub fn share(self, conn: &mut Conn) -> QueryResult<()> {
        self.lock(conn, "pg_advisory_xact_lock_shared")
    }

    /// Holds the lock alone until the transaction ends.
    pub fn take(self, conn: &mut Conn) -> QueryResult<()> {
        self.lock(conn, "pg_advisory_xact_lock")
    }

    fn lock(self, conn: &mut Conn, function: &str) -> QueryResult<()> {
        match (conn, self) {
            (Conn::Sqlite(_), _) => Ok(()),
            (Conn::Postgres(conn), Self::Pauses) => {
                sql_query(format!("SELECT {function}(7146224815213)")).execute(conn).map(|_| ())
            }
        }
    }
}

/// The suffix of a `SELECT` that keeps a row from changing until the transaction ends. SQLite's one writer needs none.
pub fn share_lock(conn: &Conn) -> &'static str {
    match conn {
        Conn::Sqlite(_) => "",
        Conn::Postgres(_) => " FOR SHARE",
    }
}

/// The suffix of a `SELECT` that keeps rows to this transaction until it ends. SQLite's one writer needs none.
pub fn write_lock(conn: &Conn) -> &'static str {
    match conn {
        Conn::Sqlite(_) => "",
        Conn::Postgres(_) => " FOR UPDATE",
    }
}

/// The suffix of a `SELECT` that keeps rows to this transaction, and leaves out those that another one has. SQLite's one
/// writer needs none.
pub fn skip_locked(conn: &Conn) -> &'static str {
    match conn {
        Conn::Sqlite(_) => "",
        Conn::Postgres(_) => " FOR UPDATE SKIP LOCKED",
    }
}
