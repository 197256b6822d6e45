//! Tells the kinds of database error apart. diesel gives no SQLSTATE, so the messages decide; they are tested against
//! the real backends.

use diesel::result::{DatabaseErrorKind, Error as QueryError};

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
    "connection to server",
    "database system is",
    "too many clients",
    "remaining connection slots",
    "cannot execute",
    "No space left on device",
    "database is locked",
    "database table is locked",
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
        QueryError::DatabaseError(DatabaseErrorKind::Unknown, info) => {
            let message = info.message();
            if message.contains("deadlock detected") {
                Trouble::Conflict
            } else if LOST.iter().chain(AWAY).any(|words| message.contains(words)) {
                Trouble::Away
            } else {
                Trouble::Defect
            }
        }
        QueryError::RollbackErrorOnCommit { commit_error, .. } => trouble(commit_error),
        _ => Trouble::Defect,
    }
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
