//! The records that actions concern.

use std::collections::BTreeMap;

use diesel::prelude::*;

use super::schema::action_subjects;
use crate::db::{Conn, Prepare, QueryResult, Timestamp};

/// Each record's name ("order:#1044") with the version it had.
pub type Versions = BTreeMap<String, i64>;

/// The records of a new action, which can be open until `expires_at`.
pub fn insert(
    conn: &mut Conn,
    action_id: &str,
    versions: &Versions,
    expires_at: Timestamp,
) -> QueryResult<()> {
    for (subject, version) in versions {
        diesel::insert_into(action_subjects::table)
            .values((
                action_subjects::action_id.eq(action_id),
                action_subjects::subject.eq(subject),
                action_subjects::version.eq(version),
                action_subjects::expires_at.eq(expires_at),
            ))
            .prepared()
            .execute(conn)?;
    }
    Ok(())
}

/// The versions as the request saw them.
pub fn of(conn: &mut Conn, action_id: &str) -> QueryResult<Versions> {
    let rows: Vec<(String, i64)> = action_subjects::table
        .filter(action_subjects::action_id.eq(action_id))
        .select((action_subjects::subject, action_subjects::version))
        .load(conn)?;
    Ok(rows.into_iter().collect())
}
