//! What people are yet to be told, until messages are made of it.

use diesel::{
    prelude::*,
    sql_query,
    sql_types::{BigInt, Timestamp as SqlTimestamp},
};

use super::schema::notices;
use crate::db::{Conn, Prepare, QueryResult, Timestamp, columns, skip_locked, text_enum};

text_enum! {
    /// What a notice tells of.
    pub enum Topic {
        /// A new action waits.
        Requested = "requested",
        /// Half of its time is over, and it still waits.
        Reminder = "reminder",
        /// Nobody decided in time.
        Expired = "expired",
        /// A person decided.
        Decided = "decided",
        /// A message could not be delivered, for good.
        Undelivered = "undelivered",
        /// A person signed in from a place they had not signed in from before.
        SignedIn = "signed_in",
        /// A person's password was changed.
        PasswordChanged = "password_changed",
    }
}

/// Something to be told.
#[derive(Debug, Clone, Queryable, Selectable, Insertable, QueryableByName)]
#[diesel(table_name = notices)]
pub struct Notice {
    pub id: String,
    pub topic: Topic,
    /// When it happened.
    pub at: Timestamp,
    /// From when on people are told.
    pub due_at: Timestamp,
    pub action_id: Option<String>,
    /// Whom it concerns alone.
    pub person_id: Option<String>,
    /// From where somebody signed in, or which message was not delivered.
    pub detail: String,
}

impl Notice {
    /// A notice of an action, due at once.
    pub fn of_action(id: &str, topic: Topic, action_id: &str, at: Timestamp) -> Self {
        Self {
            action_id: Some(action_id.to_owned()),
            ..Self::plain(id, topic, at)
        }
    }

    /// A notice for one person, due at once.
    pub fn of_person(id: &str, topic: Topic, person_id: &str, detail: &str, at: Timestamp) -> Self {
        Self {
            person_id: Some(person_id.to_owned()),
            detail: detail.to_owned(),
            ..Self::plain(id, topic, at)
        }
    }

    /// A notice of nothing in particular.
    fn plain(id: &str, topic: Topic, at: Timestamp) -> Self {
        Self {
            id: id.to_owned(),
            topic,
            at,
            due_at: at,
            action_id: None,
            person_id: None,
            detail: String::new(),
        }
    }
}

/// Writes a notice, in the transaction of what it tells of. Where that records an audit event too, the two may share an id.
pub fn insert(conn: &mut Conn, notice: &Notice) -> QueryResult<()> {
    diesel::insert_into(notices::table).values(notice).prepared().execute(conn).map(|_| ())
}

/// Whether anything is due.
pub fn any_due(conn: &mut Conn, now: Timestamp) -> QueryResult<bool> {
    diesel::select(diesel::dsl::exists(notices::table.filter(notices::due_at.le(now)))).get_result(conn)
}

/// Takes what is due, the oldest first: it is gone when the transaction commits. What another process is taking is left to
/// it.
pub fn take_due(conn: &mut Conn, now: Timestamp, limit: i64) -> QueryResult<Vec<Notice>> {
    let suffix = skip_locked(conn);
    let mut taken: Vec<Notice> = sql_query(format!(
        "DELETE FROM notices WHERE id IN \
         (SELECT id FROM notices WHERE due_at <= $1 ORDER BY due_at, id LIMIT $2{suffix}) RETURNING {}",
        columns::<Notice>()
    ))
    .bind::<SqlTimestamp, _>(now)
    .bind::<BigInt, _>(limit)
    .load(conn)?;
    taken.sort_by(|one, other| (one.due_at, &one.id).cmp(&(other.due_at, &other.id)));
    Ok(taken)
}

/// Forgets what was due by a time, at most `limit`.
pub fn forget(conn: &mut Conn, by: Timestamp, limit: i64) -> QueryResult<usize> {
    sql_query(
        "DELETE FROM notices WHERE id IN (SELECT id FROM notices WHERE due_at <= $1 ORDER BY due_at LIMIT $2)",
    )
    .bind::<SqlTimestamp, _>(by)
    .bind::<BigInt, _>(limit)
    .execute(conn)
}
