//! Actions beside an action: on the same records, or for the same write.

use diesel::{
    prelude::*,
    sql_query,
    sql_types::{BigInt, Text, Timestamp as SqlTimestamp},
};

use super::{Action, Status};
use crate::{
    db::{Conn, Prepare, QueryResult, Timestamp, columns, of_few_lengths},
    store::{
        schema::{action_subjects, actions},
        subjects::Versions,
    },
};

/// What is open, or was executed after `since`. What a revoked agent asked for can't run any more. Whatever was executed could
/// still be decided then: by `expires_at`, those that could are found first, and long histories are not looked at.
///
/// SQLite numbers a statement's `$1`, `$2` by their first place in its text: they have to appear in their order.
fn close(now: &str, since: &str) -> String {
    let [pending, executing, indeterminate, executed] =
        [Status::Pending, Status::Executing, Status::Indeterminate, Status::Executed].map(Status::as_str);
    format!(
        "(status = '{pending}' AND expires_at > {now} \
             AND agent_id NOT IN (SELECT id FROM agents WHERE revoked_at IS NOT NULL) \
         OR status IN ('{executing}', '{indeterminate}') \
         OR status = '{executed}' AND decided_at > {since})"
    )
}

/// What asks for the same write as another action `$3` of the fingerprint `$1`, and is open at `$4` or was executed after `$2`.
fn equal() -> String {
    format!("fingerprint = $1 AND expires_at > $2 AND id <> $3 AND {}", close("$4", "$2"))
}

/// Another action, as much as it takes to choose which are shown.
#[derive(Debug, Clone, QueryableByName)]
pub struct Beside {
    #[diesel(sql_type = Text)]
    pub id: String,
    #[diesel(sql_type = Text)]
    pub agent_id: String,
    #[diesel(sql_type = Text)]
    pub kind: String,
    #[diesel(sql_type = Text)]
    pub status: Status,
    /// Which of the latest of its agent, kind and status it is, from 1.
    #[diesel(sql_type = BigInt)]
    pub place: i64,
    /// How many there are of its agent, kind and status.
    #[diesel(sql_type = BigInt)]
    pub alike: i64,
}

/// Whether `action` has one of its `records` in common with another action that could still be decided after `since`. Mostly
/// it has not, and need not be asked which: Postgres plans that for longer than it looks.
fn shares_records(
    conn: &mut Conn,
    action: &Action,
    records: &Versions,
    since: Timestamp,
) -> QueryResult<bool> {
    let other = action_subjects::table
        .filter(action_subjects::subject.eq_any(of_few_lengths(records.keys())))
        .filter(action_subjects::expires_at.gt(since))
        .filter(action_subjects::action_id.ne(&action.id))
        .select(action_subjects::action_id)
        .limit(1)
        .prepared()
        .load::<String>(conn)?;
    Ok(!other.is_empty())
}

/// Whether another action asks for the same write as `action` and could still be decided after `since`: as with
/// [`shares_records`].
fn has_equals(conn: &mut Conn, action: &Action, since: Timestamp) -> QueryResult<bool> {
    let other = actions::table
        .filter(actions::fingerprint.eq(&action.fingerprint))
        .filter(actions::expires_at.gt(since))
        .filter(actions::id.ne(&action.id))
        .select(actions::id)
        .limit(1)
        .load::<String>(conn)?;
    Ok(!other.is_empty())
}

/// Other writes than `action`'s on the same `records` that are open or were executed after `since`, newest first: the latest so
/// many of each agent, kind and status.
pub fn close_on_same_records(
    conn: &mut Conn,
    action: &Action,
    records: &Versions,
    now: Timestamp,
    since: Timestamp,
    most: i64,
) -> QueryResult<Vec<Beside>> {
    if !shares_records(conn, action, records, since)? {
        return Ok(Vec::new());
    }
    let each = "PARTITION BY agent_id, kind, status";
    // From the records to the actions, in this order: SQLite would look at everything that was ever executed.
    sql_query(format!(
        "SELECT id, agent_id, kind, status, place, alike FROM (\
             SELECT id, agent_id, kind, status, row_number() OVER ({each} ORDER BY id DESC) AS place, \
                 count(*) OVER ({each}) AS alike \
             FROM (\
                 SELECT DISTINCT other.action_id FROM action_subjects own \
                 JOIN action_subjects other ON other.subject = own.subject AND other.expires_at > $1 \
                 WHERE own.action_id = $2\
             ) AS near CROSS JOIN actions \
             WHERE id = near.action_id AND fingerprint <> $3 AND {}\
         ) AS others WHERE place <= $5 ORDER BY id DESC",
        close("$4", "$1")
    ))
    .bind::<SqlTimestamp, _>(since)
    .bind::<Text, _>(&action.id)
    .bind::<Text, _>(&action.fingerprint)
    .bind::<SqlTimestamp, _>(now)
    .bind::<BigInt, _>(most)
    .prepared()
    .load(conn)
}

/// Other actions on the records of `id`, newest first.
pub fn on_same_records(conn: &mut Conn, id: &str, limit: i64) -> QueryResult<Vec<Action>> {
    let subjects = action_subjects::table
        .filter(action_subjects::action_id.eq(id))
        .select(action_subjects::subject)
        .load::<String>(conn)?;
    let ids = action_subjects::table
        .filter(action_subjects::subject.eq_any(of_few_lengths(subjects)))
        .filter(action_subjects::action_id.ne(id))
        .select(action_subjects::action_id)
        .distinct()
        .order(action_subjects::action_id.desc())
        .limit(limit)
        .prepared()
        .load::<String>(conn)?;
    let mut found = of_ids(conn, &ids)?;
    found.sort_by(|one, other| other.id.cmp(&one.id));
    Ok(found)
}

/// The actions of these ids, in no order.
pub fn of_ids(conn: &mut Conn, ids: &[String]) -> QueryResult<Vec<Action>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let among = actions::id.eq_any(of_few_lengths(ids));
    actions::table.filter(among).select(Action::as_select()).prepared().load(conn)
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

/// Other actions that ask for exactly the same write, whoever asked, and are open or were executed after `since`, those
/// that are over first: at most so many.
pub fn equal_and_close(
    conn: &mut Conn,
    action: &Action,
    now: Timestamp,
    since: Timestamp,
    most: usize,
) -> QueryResult<Vec<Action>> {
    if !has_equals(conn, action, since)? {
        return Ok(Vec::new());
    }
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    sql_query(format!(
        "SELECT {} FROM actions WHERE {} ORDER BY expires_at, id LIMIT $5",
        columns::<Action>(),
        equal()
    ))
    .bind::<Text, _>(&action.fingerprint)
    .bind::<SqlTimestamp, _>(since)
    .bind::<Text, _>(&action.id)
    .bind::<SqlTimestamp, _>(now)
    .bind::<BigInt, _>(most)
    .prepared()
    .load(conn)
}

/// How many of these there are, by their status.
pub fn equal_and_close_by_status(
    conn: &mut Conn,
    action: &Action,
    now: Timestamp,
    since: Timestamp,
) -> QueryResult<Vec<(Status, i64)>> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = Text)]
        status: Status,
        #[diesel(sql_type = BigInt)]
        count: i64,
    }
    let counting = format!("SELECT status, count(*) AS count FROM actions WHERE {} GROUP BY status", equal());
    let rows: Vec<Row> = sql_query(counting)
        .bind::<Text, _>(&action.fingerprint)
        .bind::<SqlTimestamp, _>(since)
        .bind::<Text, _>(&action.id)
        .bind::<SqlTimestamp, _>(now)
        .prepared()
        .load(conn)?;
    Ok(rows.into_iter().map(|row| (row.status, row.count)).collect())
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
