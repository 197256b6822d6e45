//! Browser sessions.

use diesel::{prelude::*, sql_query, sql_types::Text};

use super::schema::sessions;
use crate::db::{Conn, QueryResult, Timestamp, hold_row};

/// A sign-in of a person in one browser.
#[derive(Debug, Clone, Queryable, Selectable, Insertable, QueryableByName)]
#[diesel(table_name = sessions)]
pub struct Session {
    pub prefix: String,
    pub mac: String,
    pub person_id: String,
    pub address: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub lock_no: i64,
}

impl Session {
    /// Whether the session still opens anything.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.ended_at.is_none() && now < self.expires_at
    }
}

pub fn insert(conn: &mut Conn, session: &Session) -> QueryResult<()> {
    diesel::insert_into(sessions::table).values(session).execute(conn).map(|_| ())
}

pub fn find(conn: &mut Conn, prefix: &str) -> QueryResult<Option<Session>> {
    sessions::table.find(prefix).select(Session::as_select()).first(conn).optional()
}

/// Reads the session and keeps the row from changing until the transaction ends.
pub fn hold(conn: &mut Conn, prefix: &str) -> QueryResult<Option<Session>> {
    hold_row(conn, "sessions", "prefix", prefix)
}

/// A person's sessions that still open something, the newest first.
pub fn live(conn: &mut Conn, person_id: &str, now: Timestamp) -> QueryResult<Vec<Session>> {
    sessions::table
        .filter(sessions::person_id.eq(person_id))
        .filter(sessions::ended_at.is_null().and(sessions::expires_at.gt(now)))
        .order((sessions::created_at.desc(), sessions::prefix.asc()))
        .select(Session::as_select())
        .load(conn)
}

/// From where a person has signed in so far, each address once: from one to the next, past all the sign-ins from there.
pub fn addresses(conn: &mut Conn, person_id: &str) -> QueryResult<Vec<String>> {
    #[derive(QueryableByName)]
    struct Place {
        #[diesel(sql_type = Text)]
        address: String,
    }
    let places = sql_query(
        "WITH RECURSIVE places(address) AS (
             SELECT min(address) FROM sessions WHERE person_id = $1
             UNION ALL
             SELECT (SELECT min(address) FROM sessions WHERE person_id = $1 AND address > places.address)
             FROM places WHERE places.address IS NOT NULL)
         SELECT address FROM places WHERE address IS NOT NULL",
    );
    let places: Vec<Place> = places.bind::<Text, _>(person_id).load(conn)?;
    Ok(places.into_iter().map(|place| place.address).collect())
}

/// Ends one session; 0 when it had ended before.
pub fn end(conn: &mut Conn, prefix: &str, at: Timestamp) -> QueryResult<usize> {
    diesel::update(sessions::table.find(prefix).filter(sessions::ended_at.is_null()))
        .set(sessions::ended_at.eq(at))
        .execute(conn)
}

/// Ends every session of a person.
pub fn end_all(conn: &mut Conn, person_id: &str, at: Timestamp) -> QueryResult<usize> {
    diesel::update(
        sessions::table
            .filter(sessions::person_id.eq(person_id))
            .filter(sessions::ended_at.is_null()),
    )
    .set(sessions::ended_at.eq(at))
    .execute(conn)
}
