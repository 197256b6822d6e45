//! Slots: one row per principal and idempotency key, which names the current action of one logical write.

use diesel::{prelude::*, sql_query, sql_types::Text};

use super::schema::slots;
use crate::db::{Conn, Prepare, QueryResult, columns};

/// The row that all callers of one key queue up on.
#[derive(Debug, Clone, Queryable, Selectable, QueryableByName)]
#[diesel(table_name = slots)]
pub struct Slot {
    pub principal_id: String,
    pub key: String,
    pub fingerprint: String,
    pub action_id: Option<String>,
    pub attempt: i64,
    pub touches: i64,
}

/// Inserts the slot, or locks the one that is there; either way the caller holds it until its transaction ends.
pub fn take(conn: &mut Conn, principal_id: &str, key: &str, fingerprint: &str) -> QueryResult<Slot> {
    sql_query(format!(
        "INSERT INTO slots (principal_id, key, fingerprint, action_id, attempt, touches) \
         VALUES ($1, $2, $3, NULL, 0, 0) \
         ON CONFLICT (principal_id, key) DO UPDATE SET touches = slots.touches + 1 RETURNING {}",
        columns::<Slot>()
    ))
    .bind::<Text, _>(principal_id)
    .bind::<Text, _>(key)
    .bind::<Text, _>(fingerprint)
    .prepared()
    .get_result(conn)
}

/// Points the slot at its next action.
pub fn point(conn: &mut Conn, slot: &Slot, action_id: &str, attempt: i64) -> QueryResult<usize> {
    diesel::update(slots::table.find((&slot.principal_id, &slot.key)))
        .set((slots::action_id.eq(action_id), slots::attempt.eq(attempt)))
        .prepared()
        .execute(conn)
}

/// Removes a slot that never had an action, so that a refused request consumes no key.
pub fn drop_unused(conn: &mut Conn, slot: &Slot) -> QueryResult<usize> {
    diesel::delete(slots::table.find((&slot.principal_id, &slot.key)).filter(slots::action_id.is_null()))
        .prepared()
        .execute(conn)
}
