//! A worker's hold on a message. Every change it makes names its lease, so that one whose lease was taken over changes
//! nothing.

use diesel::{
    prelude::*,
    sql_query,
    sql_types::{Text, Timestamp as SqlTimestamp},
};

use super::{Message, State};
use crate::{
    db::{Conn, QueryResult, Timestamp, columns, skip_locked},
    store::schema::outbox,
};

/// Takes the message that is due first, under `lease` until `until`; none when none is due or free.
pub fn claim(conn: &mut Conn, lease: &str, now: Timestamp, until: Timestamp) -> QueryResult<Option<Message>> {
    let suffix = skip_locked(conn);
    sql_query(format!(
        "UPDATE outbox SET lease = $1, leased_until = $2, attempts = attempts + 1, \
         begun_at = CASE WHEN begun_at IS NULL THEN $3 ELSE begun_at END \
         WHERE id = (SELECT id FROM outbox WHERE status = 'waiting' AND due_at <= $3 \
         AND (leased_until IS NULL OR leased_until <= $3) ORDER BY due_at, id LIMIT 1{suffix}) RETURNING {}",
        columns::<Message>()
    ))
    .bind::<Text, _>(lease)
    .bind::<SqlTimestamp, _>(until)
    .bind::<SqlTimestamp, _>(now)
    .get_result(conn)
    .optional()
}

/// Prolongs a lease; 0 when it was taken over.
pub fn renew(conn: &mut Conn, id: &str, lease: &str, until: Timestamp) -> QueryResult<usize> {
    diesel::update(outbox::table.find(id).filter(outbox::lease.eq(lease)))
        .set(outbox::leased_until.eq(until))
        .execute(conn)
}

/// Ends a held message; 0 when the lease was taken over.
pub fn end(
    conn: &mut Conn,
    id: &str,
    lease: &str,
    state: State,
    error: Option<&str>,
    at: Timestamp,
) -> QueryResult<usize> {
    let changes = (
        outbox::status.eq(state),
        outbox::last_error.eq(error),
        outbox::ended_at.eq(at),
        outbox::lease.eq(None::<String>),
        outbox::leased_until.eq(None::<Timestamp>),
    );
    diesel::update(outbox::table.find(id).filter(outbox::lease.eq(lease)))
        .set(changes)
        .execute(conn)
}

/// Puts a held message back, to be tried again at `due_at`; 0 when the lease was taken over.
pub fn put_back(
    conn: &mut Conn,
    id: &str,
    lease: &str,
    error: Option<&str>,
    due_at: Timestamp,
) -> QueryResult<usize> {
    let changes = (
        outbox::due_at.eq(due_at),
        outbox::last_error.eq(error),
        outbox::lease.eq(None::<String>),
        outbox::leased_until.eq(None::<Timestamp>),
    );
    diesel::update(outbox::table.find(id).filter(outbox::lease.eq(lease)))
        .set(changes)
        .execute(conn)
}

/// Whether a message is due.
pub fn any_due(conn: &mut Conn, now: Timestamp) -> QueryResult<bool> {
    let free = outbox::leased_until.is_null().or(outbox::leased_until.le(now));
    let due = outbox::table.filter(outbox::status.eq(State::Waiting).and(outbox::due_at.le(now)).and(free));
    diesel::select(diesel::dsl::exists(due)).get_result(conn)
}
