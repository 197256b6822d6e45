//! What a database remembers of the secret under which its keys are made.

use diesel::{prelude::*, sql_query, sql_types::Text};

use super::schema::secret_mark;
use crate::db::{Conn, QueryResult};

/// What is remembered, if anything is.
pub fn find(conn: &mut Conn) -> QueryResult<Option<String>> {
    secret_mark::table.select(secret_mark::mac).first(conn).optional()
}

/// Remembers it, unless something is remembered already.
pub fn insert(conn: &mut Conn, mac: &str) -> QueryResult<usize> {
    sql_query("INSERT INTO secret_mark (one, mac) VALUES (1, $1) ON CONFLICT (one) DO NOTHING")
        .bind::<Text, _>(mac)
        .execute(conn)
}

/// Remembers it in place of anything else.
pub fn replace(conn: &mut Conn, mac: &str) -> QueryResult<usize> {
    sql_query(
        "INSERT INTO secret_mark (one, mac) VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET mac = excluded.mac",
    )
    .bind::<Text, _>(mac)
    .execute(conn)
}
