//! Reading the log: a page of it, newest first, with the names of those who acted.

use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
};

use chrono::{DateTime, NaiveDate, NaiveTime};
use serde_json::Value;

use super::Category;
use crate::{
    db::{Conn, Db, QueryResult, Timestamp, comparable},
    error::{Denial, Result},
    paging,
    store::{
        agents,
        events::{self, Event, Filter},
        people,
    },
};

/// Which events a page shows.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub since: Option<Moment>,
    /// Up to it, and without it.
    pub until: Option<Moment>,
    pub category: Option<Category>,
    /// A person's e-mail address, an agent's name, or the id of either.
    pub actor: Option<String>,
    pub action_id: Option<String>,
    /// Only what was refused, or only what was not.
    pub denied: Option<bool>,
    /// `next_cursor` of the page before.
    pub cursor: Option<i64>,
    /// How many at most.
    pub limit: i64,
}

/// A page of the log.
#[derive(Debug, Clone)]
pub struct Page {
    pub events: Vec<Logged>,
    /// Asks for the next page; nothing on the last.
    pub next_cursor: Option<i64>,
}

/// An event with the name of who acted.
#[derive(Debug, Clone)]
pub struct Logged {
    pub event: Event,
    /// The event's own body, read.
    pub body: Value,
    /// The e-mail address or the agent's name as it is today; nothing for strangers and the system.
    pub who: Option<String>,
    /// The same of the account that was changed, or of the agent that was paused.
    pub about: Option<String>,
}

/// A point in time as people write it: `2026-01-31`, which is midnight in UTC, or RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(pub Timestamp);

impl FromStr for Moment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let moment = match NaiveDate::parse_from_str(text, "%Y-%m-%d") {
            Ok(day) => Some(day.and_time(NaiveTime::MIN)),
            Err(_) => DateTime::parse_from_rfc3339(text).ok().map(|moment| moment.naive_utc()),
        };
        moment
            .and_then(comparable)
            .map(Self)
            .ok_or("must be a day such as 2026-01-31 or a time such as 2026-01-31T09:30:00Z")
    }
}

/// A page of the log, newest first.
///
/// # Errors
/// `invalid_params` for an actor that doesn't exist.
pub async fn page(db: &Db, wanted: Wanted) -> Result<Page> {
    let page = db.read(move |conn| {
        let filter = match meant(conn, &wanted)? {
            Ok(filter) => filter,
            Err(denial) => return Ok(Err(denial)),
        };
        // One more than asked for tells whether there is a next page.
        let found = events::page(
            conn,
            &Filter {
                limit: wanted.limit + 1,
                ..filter
            },
        )?;
        let (found, next_cursor) = paging::split(found, wanted.limit, |last| last.seq);
        let events = with_names(conn, found)?;
        Ok(Ok(Page { events, next_cursor }))
    });
    Ok(page.await??)
}

/// What is meant by a question, without its place in the log: for a count, or for a file of all pages.
///
/// # Errors
/// As [`page`].
pub async fn filter(db: &Db, wanted: Wanted) -> Result<Filter> {
    let wanted = Wanted {
        cursor: None,
        ..wanted
    };
    Ok(db.read(move |conn| meant(conn, &wanted)).await??)
}

fn meant(conn: &mut Conn, wanted: &Wanted) -> QueryResult<Result<Filter, Denial>> {
    let actor_id = match &wanted.actor {
        Some(actor) => match actor_named(conn, actor)? {
            Some(id) => Some(id),
            None => return Ok(Err(Denial::invalid("actor", "There is no such person or agent."))),
        },
        None => None,
    };
    Ok(Ok(Filter {
        since: wanted.since.map(|Moment(at)| at),
        until: wanted.until.map(|Moment(at)| at),
        category: wanted.category.map(Category::as_str),
        actor_id,
        action_id: wanted.action_id.clone(),
        denied: wanted.denied,
        before_seq: wanted.cursor,
        limit: wanted.limit,
    }))
}

fn actor_named(conn: &mut Conn, name: &str) -> QueryResult<Option<String>> {
    if let Some(person) = people::by_email(conn, &name.to_lowercase())? {
        return Ok(Some(person.id));
    }
    if let Some(agent) = agents::by_name(conn, name)? {
        return Ok(Some(agent.id));
    }
    Ok(names(conn, BTreeSet::from([name.to_owned()]))?.into_keys().next())
}

fn with_names(conn: &mut Conn, found: Vec<Event>) -> QueryResult<Vec<Logged>> {
    // Stored by this program, as JSON.
    let bodies: Vec<Value> =
        found.iter().map(|event| serde_json::from_str(&event.body).unwrap_or_default()).collect();
    let actors = found.iter().filter_map(|event| event.actor_id.clone());
    let accounts = bodies.iter().filter_map(account).map(ToOwned::to_owned);
    let names = names(conn, actors.chain(accounts).collect())?;
    let logged = |(event, body): (Event, Value)| Logged {
        who: event.actor_id.as_ref().and_then(|id| names.get(id).cloned()),
        about: account(&body).and_then(|id| names.get(id).cloned()),
        event,
        body,
    };
    Ok(found.into_iter().zip(bodies).map(logged).collect())
}

/// The id of the person or agent that an event is about, beside who acted.
fn account(body: &Value) -> Option<&str> {
    let paused = || body["target"].as_str()?.strip_prefix("agent:");
    body["person_id"].as_str().or_else(|| body["agent_id"].as_str()).or_else(paused)
}

/// The names of agents and the e-mail addresses of people, by id.
pub fn names(conn: &mut Conn, actors: BTreeSet<String>) -> QueryResult<BTreeMap<String, String>> {
    let mut names = agents::names(conn, actors.clone())?;
    names.extend(people::emails(conn, actors)?);
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_day_or_a_time() {
        let at = |text: &str| text.parse::<Moment>().map(|Moment(at)| at.to_string());
        assert_eq!(at("2026-01-31").unwrap(), "2026-01-31 00:00:00");
        assert_eq!(at("2026-01-31T09:30:00Z").unwrap(), "2026-01-31 09:30:00");
        assert_eq!(at("2026-01-31T09:30:00.5+02:00").unwrap(), "2026-01-31 07:30:00.500");
        for wrong in ["", "yesterday", "2026-02-30", "2026-01-31T09:30:00", "1769850000"] {
            assert!(at(wrong).is_err(), "{wrong}");
        }
    }
}
