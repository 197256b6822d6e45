//! Actions beside an action: on the same records, or for the same write.

use diesel::prelude::*;

use super::{Action, Status};
use crate::{
    db::{Conn, QueryResult, Timestamp},
    store::schema::{action_subjects, actions, agents},
};

type Backend = <Conn as Connection>::Backend;

/// What is open, or was executed after `since`. What a revoked agent asked for can't run any more. Whatever was executed could
/// still be decided then: among many, those that could are found first, and long histories are not looked at.
fn close(now: Timestamp, since: Timestamp) -> actions::BoxedQuery<'static, Backend> {
    let revoked = agents::table.filter(agents::revoked_at.is_not_null()).select(agents::id);
    let open = actions::status
        .eq(Status::Pending)
        .and(actions::expires_at.gt(now))
        .and(actions::agent_id.ne_all(revoked))
        .or(actions::status.eq_any([Status::Executing, Status::Indeterminate]));
    let executed = actions::status.eq(Status::Executed).and(actions::decided_at.gt(since));
    actions::table.filter(open.or(executed.assume_not_null())).into_boxed()
}

/// Another action, as much as it takes to choose which are shown.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = actions)]
pub struct Beside {
    pub id: String,
    pub agent_id: String,
    pub kind: String,
    pub status: Status,
}

/// Other writes than `action`'s on the same records that are open or were executed after `since`, all of them, newest first.
pub fn close_on_same_records(
    conn: &mut Conn,
    action: &Action,
    now: Timestamp,
    since: Timestamp,
) -> QueryResult<Vec<Beside>> {
    let subjects = action_subjects::table
        .filter(action_subjects::action_id.eq(&action.id))
        .select(action_subjects::subject)
        .load::<String>(conn)?;
    let on_them = action_subjects::table
        .filter(action_subjects::subject.eq_any(subjects).and(action_subjects::expires_at.gt(since)))
        .select(action_subjects::action_id);
    close(now, since)
        .filter(actions::id.eq_any(on_them).and(actions::fingerprint.ne(action.fingerprint.clone())))
        .order(actions::id.desc())
        .select(Beside::as_select())
        .load(conn)
}

/// Other actions on the records of `id`, newest first.
pub fn on_same_records(conn: &mut Conn, id: &str, limit: i64) -> QueryResult<Vec<Action>> {
    let subjects = action_subjects::table
        .filter(action_subjects::action_id.eq(id))
        .select(action_subjects::subject)
        .load::<String>(conn)?;
    let ids = action_subjects::table
        .filter(action_subjects::subject.eq_any(subjects))
        .filter(action_subjects::action_id.ne(id))
        .select(action_subjects::action_id)
        .distinct()
        .order(action_subjects::action_id.desc())
        .limit(limit)
        .load::<String>(conn)?;
    actions::table
        .filter(actions::id.eq_any(ids))
        .order(actions::id.desc())
        .select(Action::as_select())
        .load(conn)
}

/// The actions of these ids, in no order.
pub fn of_ids(conn: &mut Conn, ids: &[String]) -> QueryResult<Vec<Action>> {
    actions::table.filter(actions::id.eq_any(ids)).select(Action::as_select()).load(conn)
}

/// Actions on one record, newest first.
pub fn on_record(conn: &mut Conn, subject: &str, limit: i64) -> QueryResult<Vec<Action>> {
    actions::table
        .inner_join(action_subjects::table)
        .filter(action_subjects::subject.eq(subject))
        .order(actions::id.desc())
        .limit(limit)
        .select(Action::as_select())
        .load(conn)
}

/// Other actions that ask for exactly the same write, whoever asked, and are open or were executed after `since`.
pub fn equal_and_close(
    conn: &mut Conn,
    action: &Action,
    now: Timestamp,
    since: Timestamp,
) -> QueryResult<Vec<Action>> {
    close(now, since)
        .filter(actions::fingerprint.eq(action.fingerprint.clone()).and(actions::expires_at.gt(since)))
        .filter(actions::id.ne(action.id.clone()))
        .order(actions::id.asc())
        .select(Action::as_select())
        .load(conn)
}

/// The latest other action that asked for exactly the same write and was decided so, by the time of the decision.
pub fn equal_and_decided(conn: &mut Conn, action: &Action, status: Status) -> QueryResult<Option<Action>> {
    actions::table
        .filter(actions::fingerprint.eq(&action.fingerprint).and(actions::id.ne(&action.id)))
        .filter(actions::status.eq(status))
        .order((actions::decided_at.desc(), actions::id.desc()))
        .select(Action::as_select())
        .first(conn)
        .optional()
}
