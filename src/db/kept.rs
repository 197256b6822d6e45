//! Statements that connections to Postgres keep prepared, each under a name, where `DATABASE_URL` says that they may: when it is
//! over with them.

use std::sync::atomic::{AtomicBool, Ordering};

use diesel::{
    Connection, PgConnection,
    connection::CacheSize,
    result::{DatabaseErrorKind, Error as QueryError},
};

use super::Conn;

/// Whether a pooler was found where the URL says that there is none. From then on this process keeps no statements.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// In Postgres's words, when a table is no longer what it was.
const OUTDATED: &str = "cached plan must not change result type";
/// When a name is somebody else's, or nobody's any more. No connection gives the same name twice, or takes one back.
const NOT_ITS_OWN: &[&str] = &["prepared statement \"__diesel_stmt", "bind message supplies"];

/// A connection that may keep statements, or not.
pub(super) fn set(conn: &mut PgConnection, may_keep: bool) {
    if !may_keep || IS_OVER.load(Ordering::Relaxed) {
        forget(conn);
    }
}

/// From now on the connection keeps no statements.
pub(super) fn forget(conn: &mut PgConnection) {
    conn.set_prepared_statement_cache_size(CacheSize::Disabled);
}

/// Whether a transaction failed because of a statement that its connection kept. It keeps none from now on.
pub(super) fn is_at_fault(conn: &mut Conn, error: &QueryError) -> bool {
    let (Conn::Postgres(conn), QueryError::DatabaseError(DatabaseErrorKind::Unknown, info)) = (conn, error)
    else {
        return false;
    };
    let message = info.message();
    let not_its_own = NOT_ITS_OWN.iter().any(|words| message.contains(words));
    if not_its_own && !IS_OVER.swap(true, Ordering::Relaxed) {
        tracing::error!(
            "a pooler stands before Postgres, although DATABASE_URL says prepared_statements=yes ({message}); \
             take that out: until this process stopped keeping statements, one may have run in place of another"
        );
    }
    let at_fault = not_its_own || message.contains(OUTDATED);
    if at_fault {
        tracing::info!("a connection keeps no statements any more: {message}");
        forget(conn);
    }
    at_fault
}
