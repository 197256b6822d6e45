//! Actions beside an action: on the same records, or for the same write.

use diesel::{
    prelude::*,
    sql_query,
    sql_types::{BigInt, Text, Timestamp as SqlTimestamp},
};

use super::{Action, Status};
use crate::{
    db::{Conn, Prepare, QueryResult, Timestamp, columns, of_few_lengths},
    store::schema::{action_subjects, actions},
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

/// Of two actions on one record: that the other could still be decided after `$1`.
const TOGETHER: &str = "other.subject = own.subject AND other.expires_at > $1";

/// What asks for the same write as another action `$3` of the fingerprint `$1`, and could still be decided after `$2`.
const EQUAL: &str = "fingerprint = $1 AND expires_at > $2 AND id <> $3";

/// What is [`EQUAL`] and open at `$4`, or was executed after `$2`.
fn equal_close() -> String {
    format!("{EQUAL} AND {}", close("$4", "$2"))
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

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = Text)]
    #[expect(dead_code, reason = "that there is one is all that is asked")]
    id: String,
}

/// Whether `action` is [`TOGETHER`] with any other. Mostly it is not, and the statement that asks for them is not made: Postgres plans
/// it for longer than it looks.
fn is_together(conn: &mut Conn, action: &Action, since: Timestamp) -> QueryResult<bool> {
    // Without a `LIMIT`, for which Postgres would rather read everybody's records until it meets one.
    let found: Vec<Found> = sql_query(format!(
        "SELECT own.action_id AS id FROM action_subjects own WHERE EXISTS (\
             SELECT 1 FROM action_subjects other WHERE {TOGETHER} AND other.action_id <> $2\
         ) AND own.action_id = $2"
    ))
    .bind::<SqlTimestamp, _>(since)
    .bind::<Text, _>(&action.id)
    .prepared()
    .load(conn)?;
    Ok(!found.is_empty())
}

/// Whether anything is [`EQUAL`], as with [`is_together`].
fn is_any_equal(conn: &mut Conn, action: &Action, since: Timestamp) -> QueryResult<bool> {
    let found: Option<Found> = sql_query(format!("SELECT id FROM actions WHERE {EQUAL} LIMIT 1"))
        .bind::<Text, _>(&action.fingerprint)
        .bind::<SqlTimestamp, _>(since)
        .bind::<Text, _>(&action.id)
        .prepared()
        .get_result(conn)
        .optional()?;
    Ok(found.is_some())
}

/// Other writes than `action`'s on the same records that are open or were executed after `since`, newest first: the latest so
/// many of each agent, kind and status.
pub fn close_on_same_records(
    conn: &mut Conn,
    action: &Action,
    now: Timestamp,
    since: Timestamp,
    most: i64,
) -> QueryResult<Vec<Beside>> {
    if !is_together(conn, action, since)? {
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
                 JOIN action_subjects other ON {TOGETHER} \
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
    if !is_any_equal(conn, action, since)? {
        return Ok(Vec::new());
    }
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    sql_query(format!(
        "SELECT {} FROM actions WHERE {} ORDER BY expires_at, id LIMIT $5",
        columns::<Action>(),
        equal_close()
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
    let counting =
        format!("SELECT status, count(*) AS count FROM actions WHERE {} GROUP BY status", equal_close());
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
