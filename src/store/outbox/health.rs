//! How delivering goes, for operators and the owner's page.

use diesel::prelude::*;

use super::{Message, State};
use crate::{
    db::{Conn, QueryResult, Timestamp},
    store::{
        people::{self, Person},
        schema::{notices, outbox, people as accounts},
    },
};

/// How delivering goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// Messages that are to be delivered, those included that are to be tried again, and notices yet to become messages.
    pub waiting: i64,
    /// Of those, the ones whose last try failed.
    pub failing: i64,
    pub dead: i64,
    /// Since when the oldest message or notice that should be with somebody by now waits, failed tries or not.
    pub oldest_due: Option<Timestamp>,
    /// Sent since a time.
    pub sent: i64,
}

/// How delivering goes at `now`, and what was sent after `since`.
pub fn health(conn: &mut Conn, now: Timestamp, since: Timestamp) -> QueryResult<Health> {
    let waiting = outbox::table.filter(outbox::status.eq(State::Waiting));
    let sent = outbox::table.filter(outbox::status.eq(State::Sent));
    let untold = notices::table.filter(notices::due_at.le(now));
    let begun = waiting.select(diesel::dsl::min(outbox::begun_at)).get_result::<Option<Timestamp>>(conn)?;
    let due = waiting
        .filter(outbox::due_at.le(now).and(outbox::attempts.eq(0)))
        .select(diesel::dsl::min(outbox::due_at))
        .get_result::<Option<Timestamp>>(conn)?;
    let noticed = untold.select(diesel::dsl::min(notices::due_at)).get_result::<Option<Timestamp>>(conn)?;
    Ok(Health {
        waiting: waiting.count().get_result::<i64>(conn)? + untold.count().get_result::<i64>(conn)?,
        failing: waiting.filter(outbox::last_error.is_not_null()).count().get_result(conn)?,
        dead: outbox::table.filter(outbox::status.eq(State::Dead)).count().get_result(conn)?,
        oldest_due: [begun, due, noticed].into_iter().flatten().min(),
        sent: sent.filter(outbox::ended_at.gt(since)).count().get_result(conn)?,
    })
}

/// The messages that ended so, with whom they are for, the latest first.
pub fn ended(conn: &mut Conn, state: State, limit: i64) -> QueryResult<Vec<(Message, Person)>> {
    outbox::table
        .inner_join(accounts::table.on(accounts::id.eq(outbox::person_id)))
        .filter(outbox::status.eq(state))
        .order((outbox::ended_at.desc(), outbox::id.desc()))
        .limit(limit)
        .select((Message::as_select(), people::Person::as_select()))
        .load(conn)
}

/// The messages that wait, with whom they are for: those whose last try failed before the others, what is due first before
/// what is due later.
pub fn waiting(conn: &mut Conn, limit: i64) -> QueryResult<Vec<(Message, Person)>> {
    outbox::table
        .inner_join(accounts::table.on(accounts::id.eq(outbox::person_id)))
        .filter(outbox::status.eq(State::Waiting))
        .order((outbox::last_error.is_null().asc(), outbox::due_at.asc(), outbox::id.asc()))
        .limit(limit)
        .select((Message::as_select(), people::Person::as_select()))
        .load(conn)
}
