//! Pages of actions, newest first, in the shape that programs read.

use serde::Serialize;

use super::{Gate, queue::agent_names, view::ActionView};
use crate::{
    error::{Denial, Result},
    store::{
        actions::{self, Filter, Status},
        agents,
    },
};

/// Which actions a page shows.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub status: Option<Status>,
    pub kind: Option<String>,
    /// By the agent's name.
    pub agent: Option<String>,
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

impl Gate {
    /// A page of actions, newest first.
    ///
    /// # Errors
    /// `invalid_params` for a kind or an agent that doesn't exist.
    pub async fn page(&self, wanted: Wanted) -> Result<Page> {
        if wanted.kind.as_ref().is_some_and(|kind| self.registry.find_kind(kind).is_none()) {
            let known: Vec<_> = self.registry.kinds().map(|kind| kind.spec().name).collect();
            return Err(Denial::invalid("kind", format!("kind must be one of {}.", known.join(", "))).into());
        }
        let gate = self.clone();
        let page = self.db.read(move |conn| {
            let agent = match &wanted.agent {
                Some(name) => match agents::by_name(conn, name)? {
                    Some(agent) => Some(agent.id),
                    None => return Ok(Err(Denial::invalid("agent", "There is no agent of that name."))),
                },
                None => None,
            };
            let filter = Filter {
                status: wanted.status,
                kind: wanted.kind.clone(),
                agent_id: agent,
                before_id: wanted.cursor.clone(),
                // One more than asked for tells whether there is a next page.
                limit: wanted.limit + 1,
            };
            let now = gate.clock.now(conn)?;
            let mut found = actions::list(conn, now, &filter)?;
            let asked = usize::try_from(wanted.limit).unwrap_or_default();
            let more = found.len() > asked;
            found.truncate(asked);
            let names = agent_names(conn)?;
            let next_cursor = found.last().filter(|_| more).map(|last| last.id.clone());
            let listed = found.iter().map(|action| {
                Ok(Listed {
                    action: gate.view(conn, action, now, None)?,
                    agent: names.get(&action.agent_id).cloned().unwrap_or_default(),
                })
            });
            let actions = listed.collect::<crate::db::QueryResult<_>>()?;
            Ok(Ok(Page { actions, next_cursor }))
        });
        Ok(page.await??)
    }
}
