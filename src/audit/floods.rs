//! Denials that nothing bounds. The first of its kind in a minute is an event; a counter takes the rest, and closes into
//! one event when the minute is over.

use chrono::{SubsecRound, Timelike};

use super::{Actor, Door, Entry, Source, What, record};
use crate::{
    db::{Conn, QueryResult, Timestamp},
    store::floods::{self, Flood},
};

/// The address of strangers beyond those that are told apart.
const ELSEWHERE: &str = "elsewhere";

/// What is counted together: for an agent all its denials of one kind and code, for those who could not be
/// authenticated also those of one door and network only, and of a person's decisions those at one door on one action.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Kind {
    what: What,
    actor: Actor,
    door: Door,
    /// The network, or the id of the action that was decided on.
    address: Option<String>,
    code: String,
}

impl Kind {
    /// The kind of a denial.
    pub fn of(entry: &Entry) -> Self {
        let (door, address) = match entry.what {
            What::SignIn | What::Authentication => (entry.source.door, entry.source.network()),
            What::Approval | What::Rejection => (entry.source.door, entry.action_id.clone()),
            What::Pause | What::Resume | What::Redelivery => (entry.source.door, None),
            _ => (Door::Internal, None),
        };
        Self {
            what: entry.what,
            actor: entry.actor.clone(),
            door,
            address,
            code: entry.outcome.clone(),
        }
    }

    /// The same denial as one of many, whose addresses are no longer told apart, and of whom only agents are: there are no more
    /// of these than owners made.
    #[must_use]
    pub fn elsewhere(self) -> Self {
        if matches!(self.actor, Actor::Agent(_)) {
            let address = self.address.map(|_| ELSEWHERE.to_owned());
            return Self { address, ..self };
        }
        Self {
            actor: Actor::Stranger,
            address: (!is_decision(self.what)).then(|| ELSEWHERE.to_owned()),
            ..self
        }
    }

    /// Whoever adds to several counters in one transaction does so in this order: two in different ones would deadlock.
    pub fn order(&self) -> impl Ord + use<> {
        let counter = self.counter(Timestamp::default(), 0);
        let Flood {
            event,
            actor_kind,
            actor_id,
            door,
            address,
            code,
            ..
        } = counter;
        (event, actor_kind, actor_id, door, address, code)
    }

    fn counter(&self, at: Timestamp, denials: i64) -> Flood {
        let (actor_kind, actor_id) = self.actor.columns();
        Flood {
            event: self.what.as_str().to_owned(),
            actor_kind: actor_kind.to_owned(),
            actor_id: actor_id.unwrap_or_default(),
            door: self.door.as_str().to_owned(),
            address: self.address.clone().unwrap_or_default(),
            code: self.code.clone(),
            minute: minute(at),
            denials,
        }
    }
}

/// Writes a denial that nothing bounds, or only counts it.
pub fn record_unbounded(
    conn: &mut Conn,
    id: &str,
    at: Timestamp,
    kind: &Kind,
    entry: &Entry,
) -> QueryResult<()> {
    if floods::add(conn, &kind.counter(at, 1))? > 1 {
        return Ok(());
    }
    record(conn, id, at, entry)
}

/// Counts denials that happened since one of their kind was written. When a new minute has begun, they begin with the event of
/// the first among them.
pub fn count(
    conn: &mut Conn,
    id: &str,
    at: Timestamp,
    kind: &Kind,
    denials: i64,
    first: &Entry,
) -> QueryResult<()> {
    if floods::add(conn, &kind.counter(at, denials))? > denials {
        return Ok(());
    }
    record(conn, id, at, first)
}

/// Whether there is a counter of a past minute to close.
pub fn has_closed_floods(conn: &mut Conn, now: Timestamp) -> QueryResult<bool> {
    Ok(!floods::closed(conn, minute(now), 1)?.is_empty())
}

/// Closes the counters of past minutes, at most as many as there are ids for their events.
pub fn close_floods(conn: &mut Conn, ids: &[String], now: Timestamp) -> QueryResult<()> {
    let limit = i64::try_from(ids.len()).unwrap_or(i64::MAX);
    for (flood, id) in floods::closed(conn, minute(now), limit)?.iter().zip(ids) {
        if let Some(flood) = floods::take(conn, flood)?.filter(|flood| flood.denials > 1) {
            record(conn, id, now, &closing(flood))?;
        }
    }
    Ok(())
}

fn closing(flood: Flood) -> Entry {
    let of = flood.event.parse().unwrap_or(What::Denials);
    let what = match of {
        What::SignIn | What::Authentication => What::FailedSignIns,
        _ => What::Denials,
    };
    let door = flood.door.parse().unwrap_or(Door::Internal);
    let address = Some(flood.address).filter(|address| !address.is_empty());
    let minute = flood.minute.and_utc().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    let actor = Actor::of_columns(&flood.actor_kind, flood.actor_id);
    denied(what, of, actor, door, address, &flood.code)
        .with("of", flood.event)
        .with("minute", minute)
        .with("denials_after_the_first", flood.denials - 1)
}

/// What is told of denials of `of`; their address is an action's id where decisions were denied.
fn denied(what: What, of: What, actor: Actor, door: Door, address: Option<String>, code: &str) -> Entry {
    let (action_id, address) = if is_decision(of) { (address, None) } else { (None, address) };
    let entry = Entry {
        denied: true,
        ..Entry::new(what, actor, &Source { door, address }, code)
    };
    action_id.into_iter().fold(entry, Entry::action)
}

fn is_decision(what: What) -> bool {
    matches!(what, What::Approval | What::Rejection)
}

fn minute(at: Timestamp) -> Timestamp {
    at.with_second(0).map_or(at, |at| at.trunc_subsecs(0))
}
