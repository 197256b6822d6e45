//! Counters of denials that are too many for an event each. Written through [`crate::audit`] only.

use diesel::{
    prelude::*,
    query_builder::{BoxedSqlQuery, SqlQuery},
    sql_query,
    sql_types::{BigInt, Text, Timestamp as SqlTimestamp},
};

use super::schema::floods;
use crate::db::{Conn, QueryResult, Timestamp, columns};

type Backend = <Conn as Connection>::Backend;

/// Denials of one kind in one minute. What is absent is empty.
#[derive(Debug, Clone, Queryable, Selectable, QueryableByName)]
#[diesel(table_name = floods)]
pub struct Flood {
    /// What was denied.
    pub event: String,
    pub actor_kind: String,
    pub actor_id: String,
    pub door: String,
    pub address: String,
    pub code: String,
    /// The start of the minute.
    pub minute: Timestamp,
    /// How many, the first included.
    pub denials: i64,
}

/// Adds to a counter and answers what it has come to.
pub fn add(conn: &mut Conn, flood: &Flood) -> QueryResult<i64> {
    let statement = format!(
        "INSERT INTO floods (event, actor_kind, actor_id, door, address, code, minute, denials) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (event, actor_kind, actor_id, door, address, code, minute) \
         DO UPDATE SET denials = floods.denials + excluded.denials RETURNING {}",
        columns::<Flood>()
    );
    let counted = keyed(&statement, flood).bind::<BigInt, _>(flood.denials).get_result::<Flood>(conn);
    counted.map(|flood| flood.denials)
}

/// Counters of minutes before `minute`, the oldest first, those of one minute always in the same order.
pub fn closed(conn: &mut Conn, minute: Timestamp, limit: i64) -> QueryResult<Vec<Flood>> {
    floods::table
        .filter(floods::minute.lt(minute))
        .order((floods::minute, floods::event, floods::actor_kind, floods::actor_id))
        .then_order_by((floods::door, floods::address, floods::code))
        .limit(limit)
        .select(Flood::as_select())
        .load(conn)
}

/// Removes a counter and answers what it had come to; `None` when another process took it.
pub fn take(conn: &mut Conn, flood: &Flood) -> QueryResult<Option<Flood>> {
    let statement = format!(
        "DELETE FROM floods WHERE event = $1 AND actor_kind = $2 AND actor_id = $3 AND door = $4 \
         AND address = $5 AND code = $6 AND minute = $7 RETURNING {}",
        columns::<Flood>()
    );
    keyed(&statement, flood).get_result(conn).optional()
}

/// A statement whose first seven parameters are the counter's key.
fn keyed<'f>(statement: &str, flood: &'f Flood) -> BoxedSqlQuery<'f, Backend, SqlQuery> {
    sql_query(statement)
        .into_boxed()
        .bind::<Text, _>(&flood.event)
        .bind::<Text, _>(&flood.actor_kind)
        .bind::<Text, _>(&flood.actor_id)
        .bind::<Text, _>(&flood.door)
        .bind::<Text, _>(&flood.address)
        .bind::<Text, _>(&flood.code)
        .bind::<SqlTimestamp, _>(flood.minute)
}
