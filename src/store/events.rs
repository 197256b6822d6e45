//! The rows of the audit log. Written through [`crate::audit`] only.

use diesel::{
    dsl::{count_star, max, min, not},
    prelude::*,
};

use super::schema::audit_events;
use crate::db::{Conn, Prepare, QueryResult, Timestamp, of_few_lengths};

/// A row to be written: `body` is the event, the other columns find it again.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = audit_events)]
pub struct NewEvent {
    pub id: String,
    pub at: Timestamp,
    pub category: &'static str,
    pub event: &'static str,
    pub actor_kind: &'static str,
    pub actor_id: Option<String>,
    pub action_id: Option<String>,
    pub subject: Option<String>,
    pub outcome: String,
    pub denied: bool,
    /// The event in canonical JSON (RFC 8785); these bytes never change.
    pub body: String,
}

/// A row of the log.
#[derive(Debug, Clone, Queryable, Selectable, QueryableByName)]
#[diesel(table_name = audit_events)]
pub struct Event {
    pub seq: i64,
    pub id: String,
    pub at: Timestamp,
    pub category: String,
    pub event: String,
    pub actor_kind: String,
    pub actor_id: Option<String>,
    pub action_id: Option<String>,
    pub subject: Option<String>,
    pub outcome: String,
    pub denied: bool,
    pub body: String,
}

/// A period with no more events than this has few.
const FEW: i64 = 1_000;

/// Which events a page shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    pub category: Option<&'static str>,
    pub actor_id: Option<String>,
    pub action_id: Option<String>,
    /// Only what was refused, or only what was not.
    pub denied: Option<bool>,
    /// Only events with a smaller `seq`; on a page of a period alone, those after that one in the order of time.
    pub before_seq: Option<i64>,
    pub limit: i64,
}

impl Filter {
    /// All that happened meanwhile.
    fn period(&self) -> Self {
        Self {
            since: self.since,
            until: self.until,
            ..Self::default()
        }
    }

    fn asks_for_no_more_than(&self, period: &Self) -> bool {
        let wherever = Self {
            before_seq: None,
            limit: period.limit,
            ..self.clone()
        };
        wherever == *period
    }
}

pub fn insert(conn: &mut Conn, event: &NewEvent) -> QueryResult<()> {
    diesel::insert_into(audit_events::table)
        .values(event)
        .prepared()
        .execute(conn)
        .map(|_| ())
}

pub fn find(conn: &mut Conn, id: &str) -> QueryResult<Option<Event>> {
    audit_events::table
        .filter(audit_events::id.eq(id))
        .select(Event::as_select())
        .first(conn)
        .optional()
}

/// A page of the log, newest first.
pub fn page(conn: &mut Conn, filter: &Filter) -> QueryResult<Vec<Event>> {
    newest_first(conn, filter)?.limit(filter.limit).select(Event::as_select()).load(conn)
}

/// How many events there are, on all pages together; of very many no more than `most` are counted.
pub fn count(conn: &mut Conn, filter: &Filter, most: i64) -> QueryResult<i64> {
    let found = newest_first(conn, filter)?.limit(most).select(audit_events::seq);
    Ok(found.load::<i64>(conn)?.len().try_into().unwrap_or(most))
}

/// An event of an action's story.
pub struct Told {
    pub event: Event,
    /// How many events before it are left out.
    pub left_out: i64,
}

/// What happened to one action, oldest first, without the reads of its status: how it began, how it ended, and the latest
/// `limit` events.
pub fn of_action(conn: &mut Conn, action_id: &str, limit: i64) -> QueryResult<Vec<Told>> {
    let told = || {
        let news = audit_events::category.ne("tools").or(audit_events::outcome.ne_all(["ok", "client_gone"]));
        audit_events::table.filter(audit_events::action_id.eq(action_id)).filter(news)
    };
    let latest = told().order(audit_events::seq.desc()).limit(limit).select(Event::as_select());
    let mut latest = latest.load(conn)?;
    latest.reverse();
    let Some(oldest) = latest.first().map(|event| event.seq) else {
        return Ok(Vec::new());
    };
    let first = || told().filter(audit_events::seq.lt(oldest)).order(audit_events::seq.asc());
    let began = first().select(Event::as_select()).first(conn).optional()?;
    // The agent may have come back ever so often since.
    let decided = audit_events::category.eq("decisions").and(audit_events::denied.eq(false));
    let withdrawn = audit_events::event.eq("tool_call").and(audit_events::outcome.eq("withdrawn"));
    let ended = first().filter(decided.or(withdrawn)).select(Event::as_select());
    let ended = ended.first(conn).optional()?;
    let mut story: Vec<Told> = Vec::with_capacity(latest.len() + 2);
    for event in began.into_iter().chain(ended).chain(latest) {
        let left_out = match story.last().map(|last| last.event.seq).filter(|last| *last < oldest) {
            Some(last) => {
                let between = audit_events::seq.gt(last).and(audit_events::seq.lt(event.seq));
                told().filter(between).count().get_result(conn)?
            }
            None => 0,
        };
        story.push(Told { event, left_out });
    }
    Ok(story)
}

/// How often one action was asked for again while it waited, and when last.
pub fn joins(conn: &mut Conn, action_id: &str) -> QueryResult<Option<(i64, Timestamp)>> {
    let (times, last) = audit_events::table
        .filter(audit_events::action_id.eq(action_id))
        .filter(audit_events::event.eq("tool_call").and(audit_events::outcome.eq("joined")))
        .select((count_star(), max(audit_events::at)))
        .first::<(i64, Option<Timestamp>)>(conn)?;
    Ok(last.map(|last| (times, last)))
}

/// The next events after `seq` in order.
pub fn after(conn: &mut Conn, seq: i64, filter: &Filter, limit: i64) -> QueryResult<Vec<Event>> {
    matching(filter)
        .filter(audit_events::seq.gt(seq))
        .order(audit_events::seq.asc())
        .limit(limit)
        .select(Event::as_select())
        .load(conn)
}

type Matching = audit_events::BoxedQuery<'static, <Conn as Connection>::Backend>;

/// What matches, newest first: all events of a period by their time, and any others by their place in the log.
///
/// What is read of a period begins and ends with it. Where more is asked of its events, they are looked at if they are few; if they are
/// many, the log is followed back from the last of them to the first.
fn newest_first(conn: &mut Conn, filter: &Filter) -> QueryResult<Matching> {
    let by_place = matching(filter).order(audit_events::seq.desc());
    let period = filter.period();
    if period == Filter::default() {
        return Ok(by_place);
    }
    if filter.asks_for_no_more_than(&period) {
        return by_time(conn, period, filter.before_seq);
    }
    let seq = audit_events::seq;
    let some = by_time(conn, period.clone(), None)?.limit(FEW + 1).select(seq).load::<i64>(conn)?;
    if i64::try_from(some.len()).is_ok_and(|found| found <= FEW) {
        return Ok(by_place.filter(seq.eq_any(of_few_lengths(some))));
    }
    // Counted, too: Postgres would look for the least alone from the beginning of the log.
    let ends = matching(&period).select((count_star(), min(seq), max(seq)));
    let (_, first, last) = ends.first::<(i64, Option<i64>, Option<i64>)>(conn)?;
    Ok(by_place
        .filter(seq.ge(first.unwrap_or_default()))
        .filter(seq.le(last.unwrap_or_default())))
}

/// Those of a period by their time, after the event of this place.
fn by_time(conn: &mut Conn, period: Filter, before: Option<i64>) -> QueryResult<Matching> {
    let (at, seq) = (audit_events::at, audit_events::seq);
    let of_the = |period: &Filter| matching(period).order((at.desc(), seq.desc()));
    let Some(before) = before else { return Ok(of_the(&period)) };
    let place = audit_events::table.filter(seq.ge(before)).order(seq.asc()).select((at, seq));
    let Some((then, before)) = place.first::<(Timestamp, i64)>(conn).optional()? else {
        return Ok(of_the(&period));
    };
    if period.until.is_some_and(|until| until <= then) {
        return Ok(of_the(&period));
    }
    // Of two bounds, SQLite would begin at whichever is said first.
    let up_to_then = Filter {
        until: None,
        ..period
    };
    Ok(of_the(&up_to_then).filter(at.le(then)).filter(at.lt(then).or(seq.lt(before))))
}

fn matching(filter: &Filter) -> Matching {
    let mut query = audit_events::table.into_boxed();
    if let Some(since) = filter.since {
        query = query.filter(audit_events::at.ge(since));
    }
    if let Some(until) = filter.until {
        query = query.filter(audit_events::at.lt(until));
    }
    if let Some(category) = filter.category {
        query = query.filter(audit_events::category.eq(category));
    }
    if let Some(actor_id) = &filter.actor_id {
        query = query.filter(audit_events::actor_id.eq(actor_id.clone()));
    }
    if let Some(action_id) = &filter.action_id {
        query = query.filter(audit_events::action_id.eq(action_id.clone()));
    }
    // Said in the statement and not bound to it: those that were denied have an index of their own.
    query = match filter.denied {
        Some(true) => query.filter(audit_events::denied),
        Some(false) => query.filter(not(audit_events::denied)),
        None => query,
    };
    if let Some(before) = filter.before_seq {
        query = query.filter(audit_events::seq.lt(before));
    }
    query
}
