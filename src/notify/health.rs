//! How delivering goes, and bringing back what was given up.

use std::collections::BTreeMap;

use chrono::TimeDelta;

use super::{Addressee, Notifier};
use crate::{
    audit::{self, Entry, Source, What},
    auth::{Visitor, guard::Permission},
    error::{Code, Denial, Result},
    store::{
        new_id,
        outbox::{self, Contents, Health, Message, State},
    },
};

/// How many messages of a state are listed.
pub const LISTED: usize = 50;

/// Everything the owner's page shows.
pub struct Delivering {
    pub health: Health,
    /// First those that were given up, the latest before the others; then those that wait: those whose last try failed before
    /// the others, and what is due first before what is due later; then the latest that were sent. Of each at most [`LISTED`].
    pub messages: Vec<Delivery>,
    pub now: crate::db::Timestamp,
}

/// A message, whom it is for, and what it tells.
pub struct Delivery {
    pub message: Message,
    pub to: Addressee,
    /// What it tells; nothing where that is no longer kept.
    pub contents: Option<Contents>,
}

impl Notifier {
    /// How delivering goes.
    pub async fn delivering(&self) -> Result<Delivering> {
        let clock = self.gate.clock.clone();
        let read = self.gate.db.read(move |conn| {
            let (now, limit) = (clock.now(conn)?, i64::try_from(LISTED).unwrap_or(i64::MAX));
            let mut found = outbox::ended(conn, State::Dead, limit)?;
            found.extend(outbox::waiting(conn, limit)?);
            found.extend(outbox::ended(conn, State::Sent, limit)?);
            let ids: Vec<_> = found.iter().map(|(message, _)| message.id.as_str()).collect();
            let contents = outbox::contents(conn, &ids)?;
            let mut contents: BTreeMap<_, _> =
                contents.into_iter().map(|one| (one.message_id.clone(), one)).collect();
            let delivery = |(message, to): (Message, _)| Delivery {
                contents: contents.remove(&message.id),
                message,
                to: Addressee::from(to),
            };
            let messages = found.into_iter().map(delivery).collect();
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

    /// Has every message that was given up tried again, and answers how many there were.
    ///
    /// # Errors
    /// `unauthenticated`, `forbidden`.
    pub async fn try_all_again(&self, owner: &Visitor, source: &Source) -> Result<usize> {
        let (clock, event) = (self.gate.clock.clone(), new_id());
        let decider = owner.decider(source.clone());
        let revived = self.gate.db.write(move |conn| {
            let held = decider.hold(conn, &clock, |role| role.may(Permission::Own))?;
            let now = clock.now(conn)?;
            let (revived, entry) = match held {
                Ok(_) => {
                    let count = outbox::revive_all(conn, now)?;
                    let outcome = if count > 0 { "done" } else { "unchanged" };
                    let entry = Entry::new(What::Redelivery, decider.actor(), &decider.source, outcome);
                    (Ok(count), entry.with("messages", count))
                }
                Err(denial) => {
                    let entry =
                        Entry::denied(What::Redelivery, decider.actor(), &decider.source, denial.code);
                    (Err(denial), entry)
                }
            };
            audit::record(conn, &event, now, &entry).map(|()| revived)
        });
        Ok(revived.await??)
    }
}
