//! Agent keys and API tokens: found by their public prefix, known only by their HMAC.

use diesel::prelude::*;

use super::schema::credentials;
use crate::db::{Conn, QueryResult, Timestamp, hold_row};

/// One key or token; it belongs to an agent or to a person.
#[derive(Debug, Clone, Queryable, Selectable, Insertable, QueryableByName)]
#[diesel(table_name = credentials)]
pub struct Credential {
    pub prefix: String,
    pub mac: String,
    pub agent_id: Option<String>,
    pub person_id: Option<String>,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

pub fn insert(conn: &mut Conn, credential: &Credential) -> QueryResult<()> {
    diesel::insert_into(credentials::table).values(credential).execute(conn).map(|_| ())
}

pub fn find(conn: &mut Conn, prefix: &str) -> QueryResult<Option<Credential>> {
    credentials::table.find(prefix).select(Credential::as_select()).first(conn).optional()
}

/// Reads the credential and keeps the row from changing until the transaction ends.
pub fn hold(conn: &mut Conn, prefix: &str) -> QueryResult<Option<Credential>> {
    hold_row(conn, "credentials", "prefix", prefix)
}

/// Whether there is any, in use or not.
pub fn any(conn: &mut Conn) -> QueryResult<bool> {
    let one = credentials::table.select(credentials::prefix).first::<String>(conn).optional()?;
    Ok(one.is_some())
}

/// Ends every key of an agent.
pub fn revoke_agent(conn: &mut Conn, agent_id: &str, at: Timestamp) -> QueryResult<usize> {
    diesel::update(
        credentials::table
            .filter(credentials::agent_id.eq(agent_id))
            .filter(credentials::revoked_at.is_null()),
    )
    .set(credentials::revoked_at.eq(at))
    .execute(conn)
}

/// Ends every token of a person.
pub fn revoke_person(conn: &mut Conn, person_id: &str, at: Timestamp) -> QueryResult<usize> {
    diesel::update(
        credentials::table
            .filter(credentials::person_id.eq(person_id))
            .filter(credentials::revoked_at.is_null()),
    )
    .set(credentials::revoked_at.eq(at))
    .execute(conn)
}
