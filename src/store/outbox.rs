//! The outbox: messages to people, and what each tells of. A worker holds a message under a lease while it delivers it;
//! every change it makes names that lease, so that one whose lease was taken over changes nothing.

mod contents;
mod health;
mod lease;

use diesel::{
    prelude::*,
    sql_query,
    sql_types::{BigInt, Text, Timestamp as SqlTimestamp},
};

pub use self::{
    contents::{Contents, contents},
    health::{Health, ended, health, waiting},
    lease::{any_due, claim, end, put_back, renew},
};
use super::{
    actions::Action,
    notices::Topic,
    schema::{actions, notices, outbox, outbox_items},
};
use crate::db::{Conn, QueryResult, Timestamp, columns, skip_locked, text_enum};

text_enum! {
    /// How far a message has come.
    pub enum State {
        /// It is to be delivered, now or later.
        Waiting = "waiting",
        Sent = "sent",
        /// It was given up.
        Dead = "dead",
        /// There was nothing left to tell when its time came, or no way to tell it for too long.
        Dropped = "dropped",
    }
}

/// A message to one person.
#[derive(Debug, Clone, Queryable, Selectable, Insertable, QueryableByName)]
#[diesel(table_name = outbox)]
pub struct Message {
    pub id: String,
    /// By which way: "email".
    pub channel: String,
    pub person_id: String,
    /// What is told in one message rather than in many.
    pub bundle: String,
    pub status: State,
    /// When it is to be delivered, or tried again.
    pub due_at: Timestamp,
    /// How often a worker took it. Until the first time it collects notices.
    pub attempts: i64,
    /// The worker that has it.
    pub lease: Option<String>,
    /// From when on another worker may take it.
    pub leased_until: Option<Timestamp>,
    /// What went wrong at the last try, in the receiving side's words or our own.
    pub last_error: Option<String>,
    pub created_at: Timestamp,
    /// When a worker took it first.
    pub begun_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// One thing that a message tells.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = outbox_items)]
pub struct Item {
    pub message_id: String,
    /// The notice it was made of.
    pub notice_id: String,
    pub topic: Topic,
    pub at: Timestamp,
    pub action_id: Option<String>,
    pub detail: String,
}

/// Whom a message goes to, by which way, and what is told together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    pub channel: String,
    pub person_id: String,
    pub bundle: String,
}

/// The message that collects for an envelope, made now as `id` if there is none, due at `due_at` at the latest. It is locked
/// until the transaction ends.
pub fn collect(
    conn: &mut Conn,
    id: &str,
    envelope: &Envelope,
    due_at: Timestamp,
    now: Timestamp,
) -> QueryResult<Message> {
    sql_query(format!(
        "INSERT INTO outbox (id, channel, person_id, bundle, status, due_at, attempts, created_at) \
         VALUES ($1, $2, $3, $4, 'waiting', $5, 0, $6) \
         ON CONFLICT (person_id, channel, bundle) WHERE status = 'waiting' AND attempts = 0 \
         DO UPDATE SET due_at = CASE WHEN excluded.due_at < outbox.due_at THEN excluded.due_at ELSE outbox.due_at END \
         RETURNING {}",
        columns::<Message>()
    ))
    .bind::<Text, _>(id)
    .bind::<Text, _>(&envelope.channel)
    .bind::<Text, _>(&envelope.person_id)
    .bind::<Text, _>(&envelope.bundle)
    .bind::<SqlTimestamp, _>(due_at)
    .bind::<SqlTimestamp, _>(now)
    .get_result(conn)
}

/// Adds what a collecting message tells.
pub fn add(conn: &mut Conn, item: &Item) -> QueryResult<()> {
    diesel::insert_into(outbox_items::table).values(item).execute(conn).map(|_| ())
}

/// All that a message tells, in the order in which it happened, each with the action it is about.
pub fn items_with_actions(conn: &mut Conn, message_id: &str) -> QueryResult<Vec<(Item, Option<Action>)>> {
    outbox_items::table
        .left_join(actions::table.on(outbox_items::action_id.eq(actions::id.nullable())))
        .filter(outbox_items::message_id.eq(message_id))
        .order((outbox_items::at.asc(), outbox_items::notice_id.asc()))
        .select((Item::as_select(), Option::<Action>::as_select()))
        .load(conn)
}

/// When a message in this envelope was last taken on its way.
pub fn last_begun(conn: &mut Conn, envelope: &Envelope) -> QueryResult<Option<Timestamp>> {
    outbox::table
        .filter(outbox::person_id.eq(&envelope.person_id))
        .filter(outbox::channel.eq(&envelope.channel))
        .filter(outbox::bundle.eq(&envelope.bundle))
        .filter(outbox::begun_at.is_not_null().and(outbox::status.ne(State::Dropped)))
        .order(outbox::begun_at.desc())
        .select(outbox::begun_at)
        .first::<Option<Timestamp>>(conn)
        .optional()
        .map(Option::flatten)
}

/// The earliest message that told the same person of an action, by the same way, and was sent.
pub fn first_about(conn: &mut Conn, message: &Message, action_id: &str) -> QueryResult<Option<Message>> {
    outbox::table
        .inner_join(outbox_items::table)
        .filter(outbox_items::action_id.eq(action_id))
        .filter(outbox::person_id.eq(&message.person_id).and(outbox::id.ne(&message.id)))
        .filter(outbox::channel.eq(&message.channel).and(outbox::status.eq(State::Sent)))
        .order((outbox::begun_at.asc(), outbox::id.asc()))
        .select(Message::as_select())
        .first(conn)
        .optional()
}

/// What a person knows of an action that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knows {
    /// Nothing, as far as can be told.
    Nothing,
    /// A message is about to go.
    Soon,
    /// They were told then.
    Since(Timestamp),
}

/// What a person knows of an action that waits. A message that failed, or was given up, told them nothing.
pub fn knows(conn: &mut Conn, person_id: &str, action_id: &str) -> QueryResult<Knows> {
    let told: Vec<(State, Option<Timestamp>, Option<String>)> = outbox::table
        .inner_join(outbox_items::table)
        .filter(outbox_items::action_id.eq(action_id))
        .filter(outbox_items::topic.eq(Topic::Requested))
        .filter(outbox::person_id.eq(person_id))
        .select((outbox::status, outbox::ended_at, outbox::last_error))
        .load(conn)?;
    let knows = |(state, ended_at, error): &(State, Option<Timestamp>, Option<String>)| match state {
        State::Sent => ended_at.map(Knows::Since),
        State::Waiting if error.is_none() => Some(Knows::Soon),
        _ => None,
    };
    Ok(told.iter().find_map(knows).unwrap_or(Knows::Nothing))
}

/// Brings a dead message back, to be tried at once, and for as long as a new one; 0 when it was not dead.
pub fn revive(conn: &mut Conn, id: &str, now: Timestamp) -> QueryResult<usize> {
    diesel::update(outbox::table.find(id).filter(outbox::status.eq(State::Dead)))
        .set(Revival::at(now))
        .execute(conn)
}

/// Brings every dead message back, and answers how many there were.
pub fn revive_all(conn: &mut Conn, now: Timestamp) -> QueryResult<usize> {
    diesel::update(outbox::table.filter(outbox::status.eq(State::Dead)))
        .set(Revival::at(now))
        .execute(conn)
}

/// What makes a dead message as good as new.
#[derive(AsChangeset)]
#[diesel(table_name = outbox, treat_none_as_null = true)]
struct Revival {
    status: State,
    due_at: Timestamp,
    begun_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
}

impl Revival {
    fn at(now: Timestamp) -> Self {
        Self {
            status: State::Waiting,
            due_at: now,
            begun_at: Some(now),
            ended_at: None,
        }
    }
}

/// Whether owners have been told since a time, or are about to be, that messages to a person are given up.
pub fn is_reported(conn: &mut Conn, person_id: &str, since: Timestamp) -> QueryResult<bool> {
    let untold = notices::table
        .filter(notices::topic.eq(Topic::Undelivered).and(notices::at.gt(since)))
        .filter(notices::person_id.eq(person_id));
    if diesel::select(diesel::dsl::exists(untold)).get_result(conn)? {
        return Ok(true);
    }
    let told = outbox_items::table
        .inner_join(outbox::table.on(outbox::id.eq(outbox_items::detail)))
        // Such an item is about no action; there is an index on those.
        .filter(outbox_items::action_id.is_null().and(outbox_items::topic.eq(Topic::Undelivered)))
        .filter(outbox_items::at.gt(since).and(outbox::person_id.eq(person_id)));
    diesel::select(diesel::dsl::exists(told)).get_result(conn)
}

/// Ends messages that nobody delivers: due before a time, and in nobody's hands since. At most `limit`.
pub fn drop_stale(conn: &mut Conn, before: Timestamp, limit: i64, now: Timestamp) -> QueryResult<usize> {
    let suffix = skip_locked(conn);
    sql_query(format!(
        "UPDATE outbox SET status = 'dropped', ended_at = $1, lease = NULL, leased_until = NULL WHERE id IN \
         (SELECT id FROM outbox WHERE status = 'waiting' AND due_at <= $2 \
         AND (leased_until IS NULL OR leased_until <= $2) ORDER BY due_at, id LIMIT $3{suffix})"
    ))
    .bind::<SqlTimestamp, _>(now)
    .bind::<SqlTimestamp, _>(before)
    .bind::<BigInt, _>(limit)
    .execute(conn)
}

/// Whether there are messages that ended before a time.
pub fn any_before(conn: &mut Conn, before: Timestamp) -> QueryResult<bool> {
    let old = outbox::table
        .filter(outbox::status.eq_any([State::Sent, State::Dead, State::Dropped]))
        .filter(outbox::ended_at.lt(before));
    diesel::select(diesel::dsl::exists(old)).get_result(conn)
}

/// Forgets messages that ended before a time, at most `limit`.
pub fn forget(conn: &mut Conn, before: Timestamp, limit: i64) -> QueryResult<usize> {
    // The states by name, because the index begins with them.
    sql_query(
        "DELETE FROM outbox WHERE id IN \
         (SELECT id FROM outbox WHERE status IN ('sent', 'dead', 'dropped') AND ended_at < $1 LIMIT $2)",
    )
    .bind::<SqlTimestamp, _>(before)
    .bind::<BigInt, _>(limit)
    .execute(conn)
}

/// The message of that id.
pub fn find(conn: &mut Conn, id: &str) -> QueryResult<Option<Message>> {
    outbox::table.find(id).select(Message::as_select()).first(conn).optional()
}
