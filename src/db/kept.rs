//! Statements that a connection to Postgres keeps prepared, each under a name, where `DATABASE_URL` says that it may. When one of
//! them is no longer what it was, the connection keeps none any more.

use diesel::{
    Connection, PgConnection,
    connection::CacheSize,
    result::{DatabaseErrorKind, Error as QueryError},
};

/// In Postgres's words, when a table is no longer what it was. In another language `told_apart` takes care of it.
const OUTDATED: &str = "cached plan must not change result type";
/// What Postgres quotes in any language when a name is somebody else's, or nobody's. No connection gives one twice or takes one
/// back, so that a pooler must be in between.
const NAME: &str = "__diesel_stmt";

/// From now on the connection keeps nothing.
pub(super) fn forget(conn: &mut PgConnection) {
    conn.set_prepared_statement_cache_size(CacheSize::Disabled);
}

/// Whether a transaction failed because of what its connection keeps; then that is forgotten.
pub(super) fn forget_if_at_fault(conn: &mut PgConnection, error: &QueryError) -> bool {
    let QueryError::DatabaseError(DatabaseErrorKind::Unknown, info) = error else {
        return false;
    };
    let message = info.message();
    if message.contains(NAME) {
        tracing::error!(
            "there is a pooler before Postgres, although DATABASE_URL says prepared_statements=yes: {message}. Remove that \
             parameter: a statement may have run in place of another"
        );
    } else if message.contains(OUTDATED) {
        tracing::info!("a connection keeps no statements any more: {message}");
    } else {
        return false;
    }
    forget(conn);
    true
}
