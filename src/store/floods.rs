//! Counters of denials that are too many for an event each.

use diesel::{
    prelude::*,
    sql_query,
    sql_types::{Text, Timestamp as SqlTimestamp},
};

use super::schema::denial_floods;
use crate::db::{Conn, QueryResult, Timestamp};

/// The denials of one agent and code in one minute.
#[derive(Debug, Clone, Queryable, Selectable, QueryableByName)]
#[diesel(table_name = denial_floods)]
pub struct Flood {
    pub agent_id: String,
    pub code: String,
    /// The start of the minute.
    pub minute: Timestamp,
    /// How many, the first included.
    pub denials: i64,
}

/// Counts one denial and answers how many there were in its minute.
pub fn count(conn: &mut Conn, agent_id: &str, code: &str, minute: Timestamp) -> QueryResult<i64> {
    sql_query(
        "INSERT INTO denial_floods (agent_id, code, minute, denials) VALUES ($1, $2, $3, 1) \
         ON CONFLICT (agent_id, code, minute) DO UPDATE SET denials = denial_floods.denials + 1 RETURNING *",
    )
    .bind::<Text, _>(agent_id)
    .bind::<Text, _>(code)
    .bind::<SqlTimestamp, _>(minute)
    .get_result::<Flood>(conn)
    .map(|flood| flood.denials)
}

/// Counters of minutes before `minute`, the oldest first.
pub fn closed(conn: &mut Conn, minute: Timestamp, limit: i64) -> QueryResult<Vec<Flood>> {
    denial_floods::table
        .filter(denial_floods::minute.lt(minute))
        .order((denial_floods::minute.asc(), denial_floods::agent_id.asc(), denial_floods::code.asc()))
        .limit(limit)
        .select(Flood::as_select())
        .load(conn)
}

/// Removes a counter and answers what it had come to; `None` when another process took it.
pub fn take(conn: &mut Conn, flood: &Flood) -> QueryResult<Option<Flood>> {
    sql_query("DELETE FROM denial_floods WHERE agent_id = $1 AND code = $2 AND minute = $3 RETURNING *")
        .bind::<Text, _>(&flood.agent_id)
        .bind::<Text, _>(&flood.code)
        .bind::<SqlTimestamp, _>(flood.minute)
        .get_result(conn)
        .optional()
}
