//! People: human accounts.

use std::collections::{BTreeMap, BTreeSet};

use diesel::{prelude::*, sql_query, sql_types::Text};

use super::schema::people;
use crate::db::{
    Conn, Prepare, QueryResult, Timestamp, columns, hold_row, lock_row, of_few_lengths, text_enum, write_lock,
};

text_enum! {
    /// What a person may do.
    pub enum Role {
        /// Everything, accounts and pauses included.
        Owner = "owner",
        /// Sees what a viewer sees, and decides.
        Approver = "approver",
        /// Sees what a viewer sees, and the audit log.
        Auditor = "auditor",
        /// Sees the queue, the actions and the shop.
        Viewer = "viewer",
    }
}

/// A human account.
#[derive(Debug, Clone, Queryable, Selectable, Insertable, QueryableByName)]
#[diesel(table_name = people)]
pub struct Person {
    pub id: String,
    /// In lower case; unique.
    pub email: String,
    pub role: Role,
    /// argon2id, as a PHC string.
    pub password_hash: String,
    pub enabled: bool,
    pub created_at: Timestamp,
    pub lock_no: i64,
}

pub fn insert(conn: &mut Conn, person: &Person) -> QueryResult<()> {
    diesel::insert_into(people::table).values(person).execute(conn).map(|_| ())
}

pub fn find(conn: &mut Conn, id: &str) -> QueryResult<Option<Person>> {
    people::table.find(id).select(Person::as_select()).first(conn).optional()
}

pub fn by_email(conn: &mut Conn, email: &str) -> QueryResult<Option<Person>> {
    people::table
        .filter(people::email.eq(email))
        .select(Person::as_select())
        .first(conn)
        .optional()
}

/// Everybody's address, whatever else the schema knows of them.
pub fn addresses(conn: &mut Conn) -> QueryResult<Vec<String>> {
    people::table.select(people::email).load(conn)
}

/// Everybody, by e-mail address.
pub fn all(conn: &mut Conn) -> QueryResult<Vec<Person>> {
    people::table.order(people::email.asc()).select(Person::as_select()).load(conn)
}

/// The e-mail addresses of the people with these ids, by id.
pub fn emails(conn: &mut Conn, ids: BTreeSet<String>) -> QueryResult<BTreeMap<String, String>> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let among = people::id.eq_any(of_few_lengths(ids));
    let emails = people::table.filter(among).select((people::id, people::email)).prepared();
    Ok(emails.load::<(String, String)>(conn)?.into_iter().collect())
}

/// The owner whose account is the oldest: new agents belong to them unless somebody else is named.
pub fn first_owner(conn: &mut Conn) -> QueryResult<Option<Person>> {
    people::table
        .filter(people::role.eq(Role::Owner).and(people::enabled.eq(true)))
        .order((people::created_at.asc(), people::id.asc()))
        .select(Person::as_select())
        .first(conn)
        .optional()
}

/// Finds the person and locks them until the transaction ends.
pub fn lock_by_email(conn: &mut Conn, email: &str) -> QueryResult<Option<Person>> {
    lock_row(conn, "people", "email", email)
}

/// Locks the person until the transaction ends.
pub fn lock(conn: &mut Conn, id: &str) -> QueryResult<Option<Person>> {
    lock_row(conn, "people", "id", id)
}

/// The enabled owners, whom nobody else changes until the transaction ends.
pub fn lock_owners(conn: &mut Conn) -> QueryResult<Vec<Person>> {
    let suffix = write_lock(conn);
    sql_query(format!(
        "SELECT {} FROM people WHERE role = $1 AND enabled ORDER BY id{suffix}",
        columns::<Person>()
    ))
    .bind::<Text, _>(Role::Owner.as_str())
    .load(conn)
}

/// Reads the person and keeps the row from changing until the transaction ends.
pub fn hold(conn: &mut Conn, id: &str) -> QueryResult<Option<Person>> {
    hold_row(conn, "people", "id", id)
}

pub fn set_role(conn: &mut Conn, id: &str, role: Role) -> QueryResult<usize> {
    diesel::update(people::table.find(id))
        .set((people::role.eq(role), people::lock_no.eq(people::lock_no + 1)))
        .execute(conn)
}

pub fn set_enabled(conn: &mut Conn, id: &str, enabled: bool) -> QueryResult<usize> {
    diesel::update(people::table.find(id))
        .set((people::enabled.eq(enabled), people::lock_no.eq(people::lock_no + 1)))
        .execute(conn)
}

pub fn set_password_hash(conn: &mut Conn, id: &str, hash: &str) -> QueryResult<usize> {
    diesel::update(people::table.find(id))
        .set((people::password_hash.eq(hash), people::lock_no.eq(people::lock_no + 1)))
        .execute(conn)
}
