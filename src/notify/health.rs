//! How delivering goes, and bringing back what was given up.

use chrono::TimeDelta;

use super::{Addressee, Notifier};
use crate::{
    audit::{self, Entry, Source, What},
    auth::{Visitor, guard::Permission},
    db::QueryResult,
    error::{Code, Denial, Result},
    store::{
        new_id,
        outbox::{self, Health, Item, Message, State},
    },
};

/// How many messages of a state are listed.
const LISTED: i64 = 50;

/// Everything the owner's page shows.
pub struct Delivering {
    pub health: Health,
    /// First those that were given up, the latest before the others; then those that wait: those whose last try failed before
    /// the others, and what is due first before what is due later; then the latest that were sent.
    pub messages: Vec<Delivery>,
    pub now: crate::db::Timestamp,
}

/// A message, whom it is for, and what it tells.
pub struct Delivery {
    pub message: Message,
    pub to: Addressee,
    /// How many things it tells.
    pub count: i64,
    /// The first of them.
    pub first: Option<Item>,
}

impl Notifier {
    /// How delivering goes.
    pub async fn delivering(&self) -> Result<Delivering> {
        let clock = self.gate.clock.clone();
        let read = self.gate.db.read(move |conn| {
            let now = clock.now(conn)?;
            let mut messages = outbox::ended(conn, State::Dead, LISTED)?;
            messages.extend(outbox::waiting(conn, LISTED)?);
            messages.extend(outbox::ended(conn, State::Sent, LISTED)?);
            let messages = messages.into_iter().map(|(message, to)| {
                Ok(Delivery {
                    count: outbox::count_items(conn, &message.id)?,
                    first: outbox::items(conn, &message.id, 1)?.pop(),
                    message,
                    to: to.into(),
                })
            });
            let messages = messages.collect::<QueryResult<_>>()?;
            Ok(Delivering {
                health: outbox::health(conn, now, now - TimeDelta::days(1))?,
                messages,
                now,
            })
        });
        read.await
    }

    /// The counts alone, and the time they were taken.
    pub async fn health(&self) -> Result<(Health, crate::db::Timestamp)> {
        let clock = self.gate.clock.clone();
        let read = self.gate.db.read(move |conn| {
            let now = clock.now(conn)?;
            Ok((outbox::health(conn, now, now - TimeDelta::days(1))?, now))
        });
        read.await
    }

    /// Has a message that was given up tried again.
    ///
    /// # Errors
    /// `not_found` for a message that is not dead; `unauthenticated`, `forbidden`.
    pub async fn try_again(&self, owner: &Visitor, source: &Source, message_id: &str) -> Result<()> {
        let (clock, event, id) = (self.gate.clock.clone(), new_id(), message_id.to_owned());
        let decider = owner.decider(source.clone());
        let revived = self.gate.db.write(move |conn| {
            let held = decider.hold(conn, &clock, |role| role.may(Permission::Own))?;
            let now = clock.now(conn)?;
            let found = match held {
                Err(denial) => Err(denial),
                Ok(_) if outbox::revive(conn, &id, now)? == 1 => Ok(()),
                Ok(_) => Err(Denial::new(Code::NotFound, "There is no such message to try again.")),
            };
            let entry = match &found {
                Ok(()) => Entry::new(What::Redelivery, decider.actor(), &decider.source, "done")
                    .with("message_id", id.as_str()),
                Err(denial) => Entry::denied(What::Redelivery, decider.actor(), &decider.source, denial.code),
            };
            audit::record(conn, &event, now, &entry).map(|()| found)
        });
        Ok(revived.await??)
    }
}
