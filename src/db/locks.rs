//! Locks, some of which the two backends spell differently.

use diesel::{
    OptionalExtension, QueryableByName, RunQueryDsl, Selectable, pg::Pg, query_builder::QueryFragment,
    sql_query, sql_types::Text,
};

use super::{Conn, Prepare, QueryResult, columns, conn::MultiBackend};

/// A lock that no row stands for. Whoever waits for it is served in turn: one who wants it alone is not overtaken by ever
/// more who share it, as with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Latch {
    /// Shared by whoever acts on what is paused or not, held alone by whoever changes that.
    Pauses,
    /// Held by whoever makes a key, or changes the secret that keys are made under.
    Secret,
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
        let Conn::Postgres(conn) = conn else { return Ok(()) };
        let number = match self {
            Self::Pauses => 7_146_224_815_213_i64,
            Self::Secret => 7_146_224_815_214,
        };
        sql_query(format!("SELECT {function}({number})")).execute(conn).map(|_| ())
    }
}

/// Reads the row of which that is the key, and keeps it from changing until the transaction ends. SQLite's one writer need not.
pub fn hold_row<T: Row>(
    conn: &mut Conn,
    table: &'static str,
    key: &'static str,
    value: &str,
) -> QueryResult<Option<T>> {
    let suffix = match conn {
        Conn::Sqlite(_) => "",
        Conn::Postgres(_) => " FOR SHARE",
    };
    one(conn, &format!("SELECT {} FROM {table} WHERE {key} = $1{suffix}", columns::<T>()), value)
}

/// Locks the row of which that is the key until the transaction ends, and answers it as it was committed last.
pub fn lock_row<T: Row>(
    conn: &mut Conn,
    table: &'static str,
    key: &'static str,
    value: &str,
) -> QueryResult<Option<T>> {
    let change = format!("UPDATE {table} SET lock_no = lock_no + 1 WHERE {key} = $1");
    one(conn, &format!("{change} RETURNING {}", columns::<T>()), value)
}

/// What is read from a row, by the names of its columns.
pub trait Row:
    Selectable<Pg, SelectExpression: QueryFragment<Pg>> + QueryableByName<MultiBackend> + 'static
{
}

impl<T> Row for T where
    T: Selectable<Pg, SelectExpression: QueryFragment<Pg>> + QueryableByName<MultiBackend> + 'static
{
}

fn one<T: Row>(conn: &mut Conn, statement: &str, value: &str) -> QueryResult<Option<T>> {
    sql_query(statement).bind::<Text, _>(value).prepared().get_result(conn).optional()
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
