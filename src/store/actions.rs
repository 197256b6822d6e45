//! Actions: the writes that agents asked for.

mod queue;
mod related;

use std::collections::BTreeMap;

use diesel::prelude::*;

pub use self::queue::{past_due, queue_depth, waiting, waiting_by_kind};
pub use self::related::{
    Beside, close_on_same_records, equal_and_close, equal_and_close_by_status, equal_and_decided, of_ids,
    on_record, on_same_records,
};
use super::schema::actions;
use crate::db::{Conn, Prepare, QueryResult, Timestamp, lock_row, of_few_lengths, text_enum};

text_enum! {
    /// Where an action stands.
    pub enum Status {
        /// Waits for a person.
        Pending = "pending",
        /// Approved; the effect outside this database is under way.
        Executing = "executing",
        /// Approved, and the write is done.
        Executed = "executed",
        /// Approved, but a rule no longer held: nothing was written.
        Failed = "failed",
        /// A person said no.
        Rejected = "rejected",
        /// The agent took it back.
        Withdrawn = "withdrawn",
        /// Nobody decided in time.
        Expired = "expired",
        /// Approved; whether the effect outside happened is not known.
        Indeterminate = "indeterminate",
    }
}

/// One write an agent asked for, from request to end.
#[derive(Debug, Clone, Queryable, Selectable, Insertable, QueryableByName)]
#[diesel(table_name = actions)]
pub struct Action {
    pub id: String,
    pub kind: String,
    pub kind_version: i32,
    pub agent_id: String,
    pub slot_key: String,
    pub attempt: i64,
    pub previous_action_id: Option<String>,
    /// What the agent asked for, canonical (RFC 8785); never changes.
    pub requested_params: String,
    /// What is shown, digested and executed.
    pub effective_params: String,
    /// SHA-256 of kind and requested params: equal for equal writes, whoever asks.
    pub fingerprint: String,
    pub reason: String,
    pub digest: String,
    /// "Refund INR 8,999.00 on order #1044".
    pub summary: String,
    /// "Refund order #1044".
    pub headline: String,
    /// "INR 8,999.00", "+48".
    pub figure: String,
    pub status: Status,
    pub requested_at: Timestamp,
    pub expires_at: Timestamp,
    pub decided_at: Option<Timestamp>,
    /// The person who approved or rejected.
    pub decided_by: Option<String>,
    /// The approver's note, or the reason of a rejection.
    pub decision_note: Option<String>,
    /// Before and after, as they stood at the claim.
    pub changes: Option<String>,
    pub result: Option<String>,
    pub refusal_rule: Option<String>,
    pub refusal_message: Option<String>,
    pub lock_no: i64,
    /// When params, reason, note and changes were dropped. The result stays: a repeated request is answered with it.
    pub pruned_at: Option<Timestamp>,
    /// How much it is about, in whole `unit`s: minor units of a currency, or pieces. Never negative.
    pub amount: Option<i64>,
    /// An ISO 4217 code, or `pieces`.
    pub unit: Option<String>,
}

impl Action {
    /// The status at `now`: a pending action past its due time is expired, whoever gets round to writing that down.
    pub fn status_at(&self, now: Timestamp) -> Status {
        match self.status {
            Status::Pending if self.is_past_due(now) => Status::Expired,
            status => status,
        }
    }

    /// Whether the other one asks for exactly the same write.
    pub fn is_same_write(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }

    /// Whether the time to decide is over.
    pub fn is_past_due(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }
}

/// How a pending action ends; `decided_at` is set with it.
#[derive(Debug, Clone, AsChangeset)]
#[diesel(table_name = actions)]
pub struct Ending {
    pub status: Status,
    pub decided_at: Timestamp,
    pub decided_by: Option<String>,
    pub decision_note: Option<String>,
    pub changes: Option<String>,
    pub result: Option<String>,
    pub refusal_rule: Option<String>,
    pub refusal_message: Option<String>,
}

impl Ending {
    /// An ending that nobody decided.
    pub fn undecided(status: Status, at: Timestamp) -> Self {
        Self {
            status,
            decided_at: at,
            decided_by: None,
            decision_note: None,
            changes: None,
            result: None,
            refusal_rule: None,
            refusal_message: None,
        }
    }
}

type Backend = <Conn as Connection>::Backend;
type BoxedQuery<'a> =
    actions::BoxedQuery<'a, Backend, diesel::dsl::SqlTypeOf<diesel::dsl::AsSelect<Action, Backend>>>;

/// Which actions a list shows.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub status: Option<Status>,
    pub kind: Option<String>,
    pub agent_id: Option<String>,
    /// Only actions with a smaller id, that is older ones.
    pub before_id: Option<String>,
    pub limit: i64,
}

pub fn insert(conn: &mut Conn, action: &Action) -> QueryResult<()> {
    diesel::insert_into(actions::table).values(action).prepared().execute(conn).map(|_| ())
}

pub fn find(conn: &mut Conn, id: &str) -> QueryResult<Option<Action>> {
    actions::table.find(id).select(Action::as_select()).first(conn).optional()
}

/// What those actions are called, by id.
pub fn headlines(conn: &mut Conn, ids: &[String]) -> QueryResult<BTreeMap<String, String>> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let found: Vec<(String, String)> = actions::table
        .filter(actions::id.eq_any(of_few_lengths(ids)))
        .select((actions::id, actions::headline))
        .prepared()
        .load(conn)?;
    Ok(found.into_iter().collect())
}

/// Locks the action until the transaction ends, and reads it as it is then.
pub fn lock(conn: &mut Conn, id: &str) -> QueryResult<Option<Action>> {
    lock_row(conn, "actions", "id", id)
}

/// Ends a pending action; 0 when it was no longer pending.
pub fn end(conn: &mut Conn, id: &str, ending: &Ending) -> QueryResult<usize> {
    diesel::update(actions::table.filter(actions::id.eq(id)).filter(actions::status.eq(Status::Pending)))
        .set(ending)
        .prepared()
        .execute(conn)
}

/// A page of actions, newest first; a pending one that is past due counts as expired.
pub fn list(conn: &mut Conn, now: Timestamp, filter: &Filter) -> QueryResult<Vec<Action>> {
    let pending = || matching(filter).filter(actions::status.eq(Status::Pending));
    let query = match filter.status {
        None => matching(filter),
        // No action has fewer attempts than one. Because of the `or`, Postgres can't look by the time, for which it would sort
        // all that is pending to show the newest few.
        Some(Status::Pending) => pending().filter(actions::expires_at.gt(now).or(actions::attempt.lt(1))),
        Some(status) => matching(filter).filter(actions::status.eq(status)),
    };
    let mut found: Vec<Action> = query.load(conn)?;
    if filter.status == Some(Status::Expired) {
        // Apart: whoever looks for both at once reads all that ever expired.
        found.extend(pending().filter(actions::expires_at.le(now)).load::<Action>(conn)?);
        found.sort_by(|one, other| other.id.cmp(&one.id));
        found.truncate(usize::try_from(filter.limit).unwrap_or(usize::MAX));
    }
    Ok(found)
}

/// A page of what fulfils the filter but for the status, newest first.
fn matching(filter: &Filter) -> BoxedQuery<'static> {
    let query = actions::table.select(Action::as_select()).order(actions::id.desc());
    let mut query = query.limit(filter.limit).into_boxed();
    if let Some(kind) = &filter.kind {
        query = query.filter(actions::kind.eq(kind.clone()));
    }
    if let Some(agent_id) = &filter.agent_id {
        query = query.filter(actions::agent_id.eq(agent_id.clone()));
    }
    if let Some(before) = &filter.before_id {
        query = query.filter(actions::id.lt(before.clone()));
    }
    query
}

/// Drops the payload of actions that ended before `before`, at most `limit` at a time. The rows stay.
pub fn prune(conn: &mut Conn, before: Timestamp, now: Timestamp, limit: i64) -> QueryResult<usize> {
    let ids: Vec<String> = actions::table
        .filter(actions::decided_at.lt(before).and(actions::pruned_at.is_null()))
        .order((actions::decided_at.asc(), actions::id.asc()))
        .limit(limit)
        .select(actions::id)
        .load(conn)?;
    diesel::update(actions::table.filter(actions::id.eq_any(&ids)).filter(actions::pruned_at.is_null()))
        .set((
            actions::requested_params.eq("{}"),
            actions::effective_params.eq("{}"),
            actions::reason.eq(""),
            actions::decision_note.eq(None::<String>),
            actions::changes.eq(None::<String>),
            actions::pruned_at.eq(now),
        ))
        .execute(conn)
}

/// Those of the actions that are no longer open.
pub fn decided_among(conn: &mut Conn, ids: &[String]) -> QueryResult<Vec<String>> {
    actions::table
        .filter(actions::id.eq_any(ids).and(actions::status.ne_all([Status::Pending, Status::Executing])))
        .select(actions::id)
        .load(conn)
}
