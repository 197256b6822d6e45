//! What a database remembers of the secret under which its keys are made.

use diesel::{prelude::*, sql_query, sql_types::Text};

use super::schema::secret_mark;
use crate::db::{Conn, QueryResult};

/// The MAC of a salt.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = secret_mark)]
pub struct Mark {
    pub salt: String,
    pub mac: String,
}

/// What is remembered, if anything is.
pub fn find(conn: &mut Conn) -> QueryResult<Option<Mark>> {
    secret_mark::table.select(Mark::as_select()).first(conn).optional()
}

/// Remembers it, in place of anything else.
pub fn put(conn: &mut Conn, mark: &Mark) -> QueryResult<usize> {
    sql_query(
        "INSERT INTO secret_mark (one, salt, mac) VALUES (1, $1, $2) \
         ON CONFLICT (one) DO UPDATE SET salt = excluded.salt, mac = excluded.mac",
    )
    .bind::<Text, _>(&mark.salt)
    .bind::<Text, _>(&mark.mac)
    .execute(conn)
}
