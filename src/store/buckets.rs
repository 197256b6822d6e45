//! The token bucket of each agent's new writes, one row per agent, shared by every process on the database.

use diesel::{
    prelude::*,
    sql_query,
    sql_types::{Text, Timestamp as SqlTimestamp},
};

use super::schema::write_buckets;
use crate::db::{Conn, Prepare, QueryResult, Timestamp, columns};

/// The bucket as GCRA keeps it.
#[derive(Debug, Clone, Queryable, Selectable, QueryableByName)]
#[diesel(table_name = write_buckets)]
pub struct Bucket {
    pub agent_id: String,
    /// The theoretical arrival time of the next write: later than now by as much as is used up.
    pub arrival_at: Timestamp,
}

/// Inserts a full bucket, or locks the one that is there.
pub fn lock(conn: &mut Conn, agent_id: &str) -> QueryResult<Bucket> {
    sql_query(format!(
        "INSERT INTO write_buckets (agent_id, arrival_at) VALUES ($1, $2) \
         ON CONFLICT (agent_id) DO UPDATE SET arrival_at = write_buckets.arrival_at RETURNING {}",
        columns::<Bucket>()
    ))
    .bind::<Text, _>(agent_id)
    .bind::<SqlTimestamp, _>(Timestamp::default())
    .prepared()
    .get_result(conn)
}

/// Moves a locked bucket on.
pub fn set(conn: &mut Conn, agent_id: &str, arrival_at: Timestamp) -> QueryResult<usize> {
    diesel::update(write_buckets::table.find(agent_id))
        .set(write_buckets::arrival_at.eq(arrival_at))
        .prepared()
        .execute(conn)
}
