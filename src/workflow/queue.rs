//! The queue, page by page.

use std::collections::BTreeMap;

use super::{
    Gate,
    list::{Named, named},
};
use crate::{
    error::{Denial, Result},
    paging,
    store::actions,
};

/// How many rows a page of the queue shows at most.
const SHOWN: i64 = 200;

/// A page of what waits for a decision.
#[derive(Debug)]
pub struct Queue {
    pub rows: Vec<Named>,
    /// The last action of the page, when others come after it.
    pub next: Option<String>,
    /// How many of each kind wait, on all pages together.
    pub by_kind: BTreeMap<String, i64>,
}

impl Queue {
    /// How many wait, of every kind.
    pub fn total(&self) -> i64 {
        self.by_kind.values().sum()
    }
}

impl Gate {
    /// What waits for a decision, the most urgent first: of one kind, if it is named, and after one action.
    ///
    /// # Errors
    /// `invalid_params` for a kind or an action that doesn't exist.
    pub async fn waiting(&self, kind: Option<String>, after: Option<String>) -> Result<Queue> {
        self.known_kind(kind.as_deref())?;
        let gate = self.clone();
        let page = self.db.read(move |conn| {
            let now = gate.clock.now(conn)?;
            let last = match &after {
                Some(id) => match actions::find(conn, id)? {
                    Some(last) => Some((last.expires_at, last.id)),
                    None => return Ok(Err(no_such_place())),
                },
                None => None,
            };
            let place = last.as_ref().map(|(at, id)| (*at, id.as_str()));
            // One more than shown tells whether there is a next page.
            let found = actions::waiting(conn, now, kind.as_deref(), place, SHOWN + 1)?;
            let (found, next) = paging::split(found, SHOWN, |last| last.id.clone());
            Ok(Ok(Queue {
                next,
                rows: named(conn, found, now)?,
                by_kind: actions::waiting_by_kind(conn, now)?.into_iter().collect(),
            }))
        });
        Ok(page.await??)
    }
}

fn no_such_place() -> Denial {
    Denial::invalid("after", "after must be the last action of the page before.")
}
