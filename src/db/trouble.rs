//! Tells the kinds of database error apart. diesel gives no SQLSTATE, so where it has no kind the messages decide; they are
//! tested against the real backends. A Postgres server may speak another language than English, which no ordinary role can
//! change: then what diesel has no kind for is something that passes.

use diesel::{
    PgConnection, QueryableByName, RunQueryDsl,
    result::{DatabaseErrorKind, Error as QueryError},
    sql_query, sql_types,
};

use super::kept;
use crate::error::Error;

/// What a database error means for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// A deadlock or a serialization failure: the transaction is gone and can run again at once.
    Conflict,
    /// The database is away, busy or full: later it may work.
    Away,
    /// Anything else is a defect of this program.
    Defect,
}

/// In libpq's words, when the server or the way to it is gone.
const LOST: &[&str] = &[
    "terminating connection",
    "server closed the connection",
    "could not receive data from server",
    "could not send data to server",
    "no connection to the server",
    "SSL connection has been closed",
    "SSL SYSCALL error",
];

/// In Postgres's and SQLite's words, when it is there but can't be used just now.
const AWAY: &[&str] = &[
    "lock timeout",
    "statement timeout",
    "canceling statement due to user request",
    "connection to server",
    "database system is",
    "too many clients",
    "remaining connection slots",
    "cannot execute",
    "No space left on device",
    "database is locked",
    "database table is locked",
    "locking protocol",
    "disk I/O error",
    "disk is full",
    "unable to open database file",
    "attempt to write a readonly database",
];

pub(super) fn trouble(error: &QueryError) -> Trouble {
    match error {
        QueryError::DatabaseError(DatabaseErrorKind::SerializationFailure, _) => Trouble::Conflict,
        QueryError::DatabaseError(
            DatabaseErrorKind::ClosedConnection
            | DatabaseErrorKind::UnableToSendCommand
            | DatabaseErrorKind::ReadOnlyTransaction,
            _,
        )
        | QueryError::BrokenTransactionManager => Trouble::Away,
        QueryError::DatabaseError(DatabaseErrorKind::Unknown, info) => trouble_in(info.message()),
        QueryError::RollbackErrorOnCommit { commit_error, .. } => trouble(commit_error),
        _ => Trouble::Defect,
    }
}

fn trouble_in(message: &str) -> Trouble {
    if message.contains("deadlock detected") {
        Trouble::Conflict
    } else if LOST.iter().chain(AWAY).any(|words| message.contains(words)) {
        Trouble::Away
    } else {
        Trouble::Defect
    }
}

/// The error of a transaction that is over, under a kind that says what it means if its words are in a language that is not
/// known here. What a closure can bring about by itself, a violated constraint, has a kind in every language; what is left is
/// a deadlock, a lock, a time-out or a server in need. Of these a deadlock alone comes with details and a hint.
pub(super) fn told_apart(error: QueryError, conn: &mut PgConnection) -> QueryError {
    match error {
        QueryError::DatabaseError(DatabaseErrorKind::Unknown, info)
            if trouble_in(info.message()) == Trouble::Defect && !speaks_english(conn) =>
        {
            // It may as well have been a statement that the connection keeps.
            kept::forget(conn);
            let kind = if info.details().is_some() && info.hint().is_some() {
                DatabaseErrorKind::SerializationFailure
            } else {
                DatabaseErrorKind::ReadOnlyTransaction
            };
            QueryError::DatabaseError(kind, info)
        }
        error => error,
    }
}

/// The setting alone doesn't tell: the environment has a say, and so has what is installed. A text of the server's own does.
fn speaks_english(conn: &mut PgConnection) -> bool {
    #[derive(QueryableByName)]
    struct Said {
        #[diesel(sql_type = sql_types::Text)]
        short_desc: String,
    }
    let said = sql_query("SELECT short_desc FROM pg_settings WHERE name = 'port'").get_result::<Said>(conn);
    said.is_ok_and(|said| said.short_desc == "Sets the TCP port the server listens on.")
}

/// Whether the connection itself is gone, as opposed to a lock that could not be had.
pub(super) fn is_lost_connection(cause: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    let Some(error) = cause.downcast_ref::<QueryError>() else { return false };
    let message = match error {
        QueryError::DatabaseError(
            DatabaseErrorKind::ClosedConnection | DatabaseErrorKind::UnableToSendCommand,
            _,
        ) => {
            return true;
        }
        QueryError::DatabaseError(_, info) => info.message(),
        QueryError::RollbackErrorOnCommit { commit_error, .. } => match commit_error.as_ref() {
            QueryError::DatabaseError(_, info) => info.message(),
            _ => return false,
        },
        _ => return false,
    };
    LOST.iter().any(|words| message.contains(words))
}

/// Whether somebody else holds SQLite's lock.
pub(super) fn is_locked(error: &QueryError) -> bool {
    matches!(error, QueryError::DatabaseError(_, info) if info.message().contains("database is locked"))
}

/// Whether a row of that id or name is there already.
pub fn is_duplicate(error: &Error) -> bool {
    let Error::Internal(cause) = error else { return false };
    let error = cause.downcast_ref::<QueryError>();
    matches!(error, Some(QueryError::DatabaseError(DatabaseErrorKind::UniqueViolation, _)))
}

impl From<QueryError> for Error {
    fn from(error: QueryError) -> Self {
        match trouble(&error) {
            Trouble::Conflict | Trouble::Away => Self::Unavailable(Box::new(error)),
            Trouble::Defect => Self::Internal(Box::new(error)),
        }
    }
}
