//! Statements that a connection to Postgres keeps prepared, each under a name, where `DATABASE_URL` says that it may. When one of
//! them is no longer what it was, the connection keeps none any more.

use std::sync::Once;

use diesel::{
    Connection, ConnectionError, PgConnection, QueryableByName, RunQueryDsl,
    connection::CacheSize,
    result::{DatabaseErrorKind, Error as QueryError},
    sql_query, sql_types,
};

use super::trouble::{Trouble, trouble};

/// In Postgres's words, when a table is no longer what it was. In another language `told_apart` takes care of it.
const OUTDATED: &str = "cached plan must not change result type";
/// What Postgres quotes in any language when a name is somebody else's, or nobody's. No connection gives one twice or takes one
/// back, so that a pooler must be in between.
const NAME: &str = "__diesel_stmt";
/// What every connection would say again is logged once.
static BLIND: Once = Once::new();

#[derive(QueryableByName)]
struct Statements {
    #[diesel(sql_type = sql_types::BigInt)]
    kept: i64,
}

/// A new connection keeps nothing yet. What is kept all the same is somebody else's: then this one never does. Nor does one
/// that may not look.
///
/// # Errors
/// If the database is away, or a standby of it cancels the look.
pub(super) fn forget_if_shared(conn: &mut PgConnection) -> Result<(), ConnectionError> {
    let found =
        sql_query("SELECT COUNT(*) AS kept FROM pg_prepared_statements").get_result::<Statements>(conn);
    match found {
        Ok(Statements { kept: 0 }) => return Ok(()),
        Ok(Statements { kept }) => warn(&format!("a new connection finds {kept} statements")),
        Err(error) if trouble(&error) != Trouble::Defect => {
            return Err(ConnectionError::CouldntSetupConfiguration(error));
        }
        Err(error) => BLIND.call_once(|| {
            tracing::warn!(
                %error,
                "connections keep no statements, although DATABASE_URL says prepared_statements=yes: \
                 pg_prepared_statements can't be read"
            );
        }),
    }
    forget(conn);
    Ok(())
}

fn warn(what: &str) {
    tracing::error!(
        "there seems to be a pooler before Postgres, although DATABASE_URL says prepared_statements=yes: {what}. Remove that \
         parameter: a statement may have run in place of another"
    );
}

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
        warn(message);
    } else if message.contains(OUTDATED) {
        tracing::info!("a connection keeps no statements any more: {message}");
    } else {
        return false;
    }
    forget(conn);
    true
}
