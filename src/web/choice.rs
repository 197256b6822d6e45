//! Which part of the queue is shown, and the addresses that keep to it.

use super::{asked::Question, link::link};
use crate::{
    error::{Denial, Result},
    query::Query,
    workflow::{Gate, Queue},
};

/// What of the queue is shown.
#[derive(Default, Clone)]
pub struct Choice {
    /// Only this kind of action.
    pub kind: Option<String>,
    /// The last action of the page before.
    pub after: Option<String>,
}

impl Question for Choice {
    const KNOWN: &'static [&'static str] = &["kind", "after"];

    fn read(query: &mut Query) -> Result<Self, Denial> {
        Ok(Self {
            kind: query.text("kind"),
            after: query.id("after")?,
        })
    }
}

impl Choice {
    pub async fn queue(&self, gate: &Gate) -> Result<Queue> {
        gate.waiting(self.kind.clone(), self.after.clone()).await
    }

    /// An address that keeps the choice.
    pub fn keep(&self, address: &str) -> String {
        let text = |given: &'_ Option<String>| given.clone().unwrap_or_default();
        link(address, &[("kind", &text(&self.kind)), ("after", &text(&self.after))])
    }

    /// The queue itself, from another action on.
    pub fn page(&self, after: Option<String>) -> String {
        let choice = Self {
            after,
            ..self.clone()
        };
        choice.keep("/")
    }
}
