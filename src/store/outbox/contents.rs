//! What messages tell, for a list of them.

use diesel::prelude::*;

use crate::{
    db::{Conn, QueryResult},
    store::schema::outbox_items,
};

/// What a message tells, in short.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct Contents {
    pub message_id: String,
    /// How many things it tells.
    pub count: i64,
    /// An action that it tells of; the one, where it tells one thing.
    pub action_id: Option<String>,
}

/// What each of some messages tells, in no order. One that tells nothing any more is left out.
pub fn contents(conn: &mut Conn, message_ids: &[&str]) -> QueryResult<Vec<Contents>> {
    outbox_items::table
        .filter(outbox_items::message_id.eq_any(message_ids.to_vec()))
        .group_by(outbox_items::message_id)
        .select((
            outbox_items::message_id,
            diesel::dsl::count_star(),
            diesel::dsl::min(outbox_items::action_id),
        ))
        .load(conn)
}
