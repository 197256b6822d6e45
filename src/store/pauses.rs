//! Pauses in force.

use diesel::{
    prelude::*,
    sql_query,
    sql_types::{Nullable, Text, Timestamp as SqlTimestamp},
};

use super::schema::pauses;
use crate::db::{Conn, Prepare, QueryResult, Timestamp};

/// A row is a pause in force.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = pauses)]
pub struct Pause {
    /// `all`, `kind:NAME` or `agent:ID`.
    pub target: String,
    /// The owner who paused in the browser; nobody when the command line did.
    pub paused_by: Option<String>,
    pub paused_at: Timestamp,
    /// The moment of the copy, in a database that is one.
    pub restored_from: Option<Timestamp>,
}

/// The pauses among `targets`.
pub fn among(conn: &mut Conn, targets: &[String]) -> QueryResult<Vec<Pause>> {
    pauses::table
        .filter(pauses::target.eq_any(targets.to_vec()))
        .select(Pause::as_select())
        .prepared()
        .load(conn)
}

/// Every pause, by target.
pub fn all(conn: &mut Conn) -> QueryResult<Vec<Pause>> {
    pauses::table.order(pauses::target.asc()).select(Pause::as_select()).load(conn)
}

/// Puts a pause in force; 0 when it was already.
pub fn insert(conn: &mut Conn, pause: &Pause) -> QueryResult<usize> {
    sql_query(
        "INSERT INTO pauses (target, paused_by, paused_at) VALUES ($1, $2, $3) ON CONFLICT (target) DO NOTHING",
    )
    .bind::<Text, _>(&pause.target)
    .bind::<Nullable<Text>, _>(&pause.paused_by)
    .bind::<SqlTimestamp, _>(pause.paused_at)
    .execute(conn)
}

/// Says of a pause that this database is a copy from `moment`, and puts it in force if it was not. A copy of a copy lacks
/// whatever the first one lacks.
pub fn insert_restored(conn: &mut Conn, target: &str, moment: Timestamp) -> QueryResult<usize> {
    sql_query(
        "INSERT INTO pauses (target, paused_at, restored_from) VALUES ($1, $2, $2) ON CONFLICT (target) \
         DO UPDATE SET restored_from = coalesce(pauses.restored_from, excluded.restored_from)",
    )
    .bind::<Text, _>(target)
    .bind::<SqlTimestamp, _>(moment)
    .execute(conn)
}

/// Ends a pause; 0 when there was none.
pub fn delete(conn: &mut Conn, target: &str) -> QueryResult<usize> {
    diesel::delete(pauses::table.find(target)).execute(conn)
}
