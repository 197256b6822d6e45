//! Lists of actions, newest first, as programs and the dashboard read them.

use chrono::TimeDelta;
use serde::Serialize;

use super::{Gate, view::ActionView};
use crate::{
    db::{Conn, QueryResult, Timestamp},
    error::{Denial, Result},
    paging,
    store::{
        actions::{self, Action, Filter, Status},
        agents, people,
    },
};

/// How many rows a list beside something else has at most.
pub(super) const BESIDE: i64 = 20;

/// Which actions a page shows.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub status: Option<Status>,
    pub kind: Option<String>,
    /// By the agent's name.
    pub agent: Option<String>,
    /// By the agent's id; a name goes before it.
    pub agent_id: Option<String>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// How many at most.
    pub limit: i64,
}

/// An action in a list.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Listed {
    #[serde(flatten)]
    pub action: ActionView,
    /// The name of the agent that asked.
    pub agent: String,
}

/// A page of actions.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Page {
    pub actions: Vec<Listed>,
    /// Asks for the next page; left out on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// An action with the name of its agent.
#[derive(Debug, Clone)]
pub struct Named {
    pub action: Action,
    pub agent: String,
    /// As it stands now.
    pub status: Status,
    /// Until it expires; negative when that is past.
    pub left: TimeDelta,
}

/// A page of actions as they stand in the database.
#[derive(Debug)]
pub struct Rows {
    pub rows: Vec<Named>,
    /// Asks for the next page; nothing on the last.
    pub next_cursor: Option<String>,
}

impl Gate {
    /// A page of actions, newest first, as programs read it.
    ///
    /// # Errors
    /// `invalid_params` for a kind or an agent that doesn't exist.
    pub async fn page(&self, wanted: Wanted) -> Result<Page> {
        let gate = self.clone();
        let page = self.db.read(move |conn| {
            let now = gate.clock.now(conn)?;
            let found = match gate.found(conn, &wanted, now)? {
                Ok(found) => found,
                Err(denial) => return Ok(Err(denial)),
            };
            let deciders = found.rows.iter().filter_map(|one| one.action.decided_by.clone()).collect();
            let emails = people::emails(conn, deciders)?;
            let listed = found.rows.into_iter().map(|one| {
                let decider = one.action.decided_by.as_ref().and_then(|id| emails.get(id)).cloned();
                Listed {
                    action: gate.view_with(&one.action, decider, now, None),
                    agent: one.agent,
                }
            });
            let actions = listed.collect();
            let next_cursor = found.next_cursor;
            Ok(Ok(Page { actions, next_cursor }))
        });
        Ok(page.await??)
    }

    /// The same, as the dashboard reads it.
    ///
    /// # Errors
    /// As [`Gate::page`].
    pub async fn listed(&self, wanted: Wanted) -> Result<Rows> {
        let gate = self.clone();
        let page = self.db.read(move |conn| {
            let now = gate.clock.now(conn)?;
            gate.found(conn, &wanted, now)
        });
        Ok(page.await??)
    }

    /// Actions on one record ("order:#1044"), newest first.
    pub fn on_record(&self, conn: &mut Conn, subject: &str) -> QueryResult<Vec<Named>> {
        let now = self.clock.now(conn)?;
        let found = actions::on_record(conn, subject, BESIDE)?;
        named(conn, found, now)
    }

    /// Refuses a kind that doesn't exist.
    pub(super) fn known_kind(&self, name: Option<&str>) -> Result<(), Denial> {
        if name.is_none_or(|name| self.registry.find_kind(name).is_some()) {
            return Ok(());
        }
        let known: Vec<_> = self.registry.kinds().map(|kind| kind.spec().name).collect();
        Err(Denial::invalid("kind", format!("kind must be one of {}.", known.join(", "))))
    }

    fn found(&self, conn: &mut Conn, wanted: &Wanted, now: Timestamp) -> QueryResult<Result<Rows, Denial>> {
        if let Err(denial) = self.known_kind(wanted.kind.as_deref()) {
            return Ok(Err(denial));
        }
        let agent_id = match &wanted.agent {
            Some(name) => match agents::by_name(conn, name)? {
                Some(agent) => Some(agent.id),
                None => return Ok(Err(Denial::invalid("agent", "There is no agent of that name."))),
            },
            None => wanted.agent_id.clone(),
        };
        let filter = Filter {
            status: wanted.status,
            kind: wanted.kind.clone(),
            agent_id,
            before_id: wanted.cursor.clone(),
            // One more than asked for tells whether there is a next page.
            limit: wanted.limit + 1,
        };
        let found = actions::list(conn, now, &filter)?;
        let (found, next_cursor) = paging::split(found, wanted.limit, |last| last.id.clone());
        let rows = named(conn, found, now)?;
        Ok(Ok(Rows { rows, next_cursor }))
    }
}

/// Each action with its agent's name.
pub(super) fn named(conn: &mut Conn, page: Vec<Action>, now: Timestamp) -> QueryResult<Vec<Named>> {
    let names = agents::names(conn, page.iter().map(|action| action.agent_id.clone()).collect())?;
    let with_name = |action: Action| Named {
        agent: names.get(&action.agent_id).cloned().unwrap_or_default(),
        status: action.status_at(now),
        left: action.expires_at - now,
        action,
    };
    Ok(page.into_iter().map(with_name).collect())
}
