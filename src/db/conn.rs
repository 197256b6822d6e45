//! A connection to either backend, and its transactions.

use super::{kept, trouble::told_apart};
use diesel::{
    Connection, PgConnection, SqliteConnection,
    connection::{AnsiTransactionManager, TransactionManager},
    result::{DatabaseErrorKind, Error as QueryError, QueryResult},
};

pub(super) type Manager = <Conn as Connection>::TransactionManager;

/// A connection to either backend. Everything outside `db` speaks to this.
#[derive(diesel::MultiConnection)]
pub enum Conn {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

/// What a transaction is for.
#[derive(Clone, Copy)]
pub(super) enum Mode {
    Read,
    Write,
    /// A write that may wait and work as long as it takes: on Postgres.
    Migrate,
}

/// A write takes SQLite's write lock at once: a transaction that upgrades later fails without waiting.
const SQLITE_WRITE: &str = "BEGIN IMMEDIATE";
const SQLITE_READ: &str = "BEGIN DEFERRED";
/// The limits are set for one transaction only, so that they hold behind a pooler in transaction mode. A process that stands
/// still, or is gone without a word, keeps its locks no longer than the last of them says.
const POSTGRES_WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '5s'; \
     SET LOCAL statement_timeout = '20s'; SET LOCAL idle_in_transaction_session_timeout = '30s'";
const POSTGRES_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = '20s'; \
     SET LOCAL idle_in_transaction_session_timeout = '30s'";

impl Conn {
    /// Runs `work` in one transaction: commits what it returns, rolls back on an error. It runs again if the fault is with a
    /// statement that the connection kept.
    pub(super) fn transact<T>(
        &mut self,
        mode: Mode,
        work: &dyn Fn(&mut Self) -> QueryResult<T>,
    ) -> QueryResult<T> {
        let mut outcome = self.transact_once(mode, work);
        if let (Err(error), Self::Postgres(conn)) = (&outcome, &mut *self)
            && kept::forget_if_at_fault(conn, error)
        {
            outcome = self.transact_once(mode, work);
        }
        outcome.map_err(|error| match self {
            Self::Sqlite(_) => error,
            Self::Postgres(conn) => told_apart(error, conn),
        })
    }

    fn transact_once<T>(&mut self, mode: Mode, work: &dyn Fn(&mut Self) -> QueryResult<T>) -> QueryResult<T> {
        self.begin(mode)?;
        match work(self) {
            Ok(value) => Manager::commit_transaction(self).map(|()| value),
            Err(error) => {
                // The first error says what happened; a failed rollback only means that the connection is gone, which
                // the pool finds out by itself.
                let _ = Manager::rollback_transaction(self);
                Err(error)
            }
        }
    }

    pub(super) fn begin(&mut self, mode: Mode) -> QueryResult<()> {
        match (self, mode) {
            (Self::Sqlite(conn), Mode::Write | Mode::Migrate) => {
                AnsiTransactionManager::begin_transaction_sql(conn, SQLITE_WRITE)
            }
            (Self::Sqlite(conn), Mode::Read) => {
                AnsiTransactionManager::begin_transaction_sql(conn, SQLITE_READ)
            }
            (Self::Postgres(conn), Mode::Write) => {
                AnsiTransactionManager::begin_transaction_sql(conn, POSTGRES_WRITE)
            }
            (Self::Postgres(conn), Mode::Migrate) => {
                AnsiTransactionManager::begin_transaction_sql(conn, "BEGIN ISOLATION LEVEL READ COMMITTED")
            }
            (Self::Postgres(conn), Mode::Read) => {
                AnsiTransactionManager::begin_transaction_sql(conn, POSTGRES_READ)
            }
        }
    }
}

/// Runs `work` so that its violation of a `CHECK` or a `UNIQUE` undoes it alone and leaves the transaction around it usable:
/// then there is no answer, and nothing of it stands.
pub fn savepoint<T>(
    conn: &mut Conn,
    work: impl FnOnce(&mut Conn) -> QueryResult<T>,
) -> QueryResult<Option<T>> {
    Manager::begin_transaction(conn)?;
    match work(conn) {
        Ok(value) => Manager::commit_transaction(conn).map(|()| Some(value)),
        Err(QueryError::DatabaseError(
            DatabaseErrorKind::CheckViolation | DatabaseErrorKind::UniqueViolation,
            _,
        )) => Manager::rollback_transaction(conn).map(|()| None),
        Err(error) => {
            let _ = Manager::rollback_transaction(conn);
            Err(error)
        }
    }
}

/// Whether a guarded update changed its one row. That row is locked and was looked at: if it was not there all the same,
/// nothing of the transaction may stand.
pub fn must_be_one(changed: usize) -> QueryResult<()> {
    if changed == 1 { Ok(()) } else { Err(QueryError::RollbackTransaction) }
}
