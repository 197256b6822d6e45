//! The queue: actions that wait for a decision, and those whose time to be decided is over.

use diesel::prelude::*;

use super::{Action, Status};
use crate::{
    db::{Conn, QueryResult, Timestamp},
    store::schema::actions,
};

/// What waits for a decision, the most urgent first: of one kind, if it is named, and after one place in that order.
pub fn waiting(
    conn: &mut Conn,
    now: Timestamp,
    kind: Option<&str>,
    after: Option<(Timestamp, &str)>,
    limit: i64,
) -> QueryResult<Vec<Action>> {
    let mut query = actions::table
        .filter(actions::status.eq(Status::Pending).and(actions::expires_at.gt(now)))
        .order((actions::expires_at.asc(), actions::id.asc()))
        .limit(limit)
        .select(Action::as_select())
        .into_boxed();
    if let Some(kind) = kind {
        query = query.filter(actions::kind.eq(kind.to_owned()));
    }
    if let Some((at, id)) = after {
        let at_once = actions::expires_at.eq(at).and(actions::id.gt(id.to_owned()));
        query = query.filter(actions::expires_at.gt(at).or(at_once));
    }
    query.load(conn)
}

/// How many of each kind wait for a decision.
pub fn waiting_by_kind(conn: &mut Conn, now: Timestamp) -> QueryResult<Vec<(String, i64)>> {
    actions::table
        .filter(actions::status.eq(Status::Pending).and(actions::expires_at.gt(now)))
        .group_by(actions::kind)
        .select((actions::kind, diesel::dsl::count_star()))
        .load(conn)
}

/// How many wait for a decision, and since when the oldest does.
pub fn queue_depth(conn: &mut Conn, now: Timestamp) -> QueryResult<(i64, Option<Timestamp>)> {
    use diesel::dsl::{count_star, min};
    actions::table
        .filter(actions::status.eq(Status::Pending).and(actions::expires_at.gt(now)))
        .select((count_star(), min(actions::requested_at)))
        .first(conn)
}

/// The ids of pending actions whose time is over, the longest overdue first.
pub fn past_due(conn: &mut Conn, now: Timestamp, limit: i64) -> QueryResult<Vec<String>> {
    actions::table
        .filter(actions::status.eq(Status::Pending).and(actions::expires_at.le(now)))
        .order((actions::expires_at.asc(), actions::id.asc()))
        .limit(limit)
        .select(actions::id)
        .load(conn)
}
