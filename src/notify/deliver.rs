//! Delivering one message: take it under a lease, compose it from what is true now, hand it over, mark it.
//!
//! No transaction is held while the other side is talked to. Whoever marks names the lease, so that a worker that was taken
//! for dead changes nothing when it comes back.

use std::{sync::Arc, time::Duration};

use chrono::TimeDelta;
use tokio_util::sync::CancellationToken;

use super::{
    Bundle, Channel, Failure, Letter, Notifier, Outcome,
    backoff::{self, GIVE_UP},
};
use crate::{
    db::{Conn, QueryResult, Timestamp},
    error::Result,
    failpoint,
    store::{
        new_id,
        notices::{self, Notice, Topic},
        outbox::{self, Message, State},
    },
};

/// For how long a worker has a message before another one may take it.
const LEASE: TimeDelta = TimeDelta::seconds(90);
/// How long the other side may take; well within the lease.
const PATIENCE: Duration = Duration::from_secs(45);
/// How long a delivery under way may go on when the process is asked to stop.
const GRACE: Duration = Duration::from_secs(4);
/// How much of a failure's words is kept, in characters.
const WORDS: usize = 500;

/// How a delivery came out of the conversation with the other side.
enum Ended {
    Taken,
    NothingToTell,
    Failed(Failure),
    /// The process stops.
    Interrupted,
}

impl Notifier {
    /// Delivers the message that is due first. Answers whether there was one.
    pub(super) async fn deliver_next(&self, stop: &CancellationToken) -> Result<bool> {
        let (clock, lease) = (self.gate.clock.clone(), new_id());
        let token = lease.clone();
        let claimed = self.gate.db.write(move |conn| {
            let now = clock.now(conn)?;
            outbox::claim(conn, &token, now, now + LEASE)
        });
        let Some(message) = claimed.await? else { return Ok(false) };
        failpoint::reach("claimed");
        let ended = self.try_to_deliver(&message, stop).await?;
        failpoint::reach("delivered");
        self.mark(message, lease, ended).await?;
        Ok(true)
    }

    async fn try_to_deliver(&self, message: &Message, stop: &CancellationToken) -> Result<Ended> {
        let Some(letter) = self.compose(message).await? else {
            return Ok(Ended::NothingToTell);
        };
        let channel = self.channels.iter().find(|channel| channel.name() == message.channel);
        let Some(channel) = channel else {
            return Ok(Ended::Failed(Failure {
                words: format!("{} is not set up.", message.channel),
                lasting: false,
            }));
        };
        let stopping = async {
            stop.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        Ok(tokio::select! {
            ended = patiently(channel, &letter) => ended,
            () = stopping => Ended::Interrupted,
        })
    }

    async fn mark(&self, message: Message, lease: String, ended: Ended) -> Result<()> {
        let (clock, ids) = (self.gate.clock.clone(), new_id());
        let channel = message.channel.clone();
        let marking = self.gate.db.write(move |conn| {
            let now = clock.now(conn)?;
            mark(conn, &message, &lease, &ended, &ids, now)
        });
        match marking.await? {
            Some(Marked::Ended(outcome)) => (self.observe)(&channel, outcome),
            Some(Marked::HandedBack) => {}
            None => tracing::warn!("a message took longer than its lease; another worker has it"),
        }
        Ok(())
    }
}

async fn patiently(channel: &Arc<dyn Channel>, letter: &Letter) -> Ended {
    let failure = match tokio::time::timeout(PATIENCE, channel.deliver(letter)).await {
        Ok(Ok(())) => return Ended::Taken,
        Ok(Err(failure)) => failure,
        Err(_) => Failure {
            words: format!("No answer within {} seconds.", PATIENCE.as_secs()),
            lasting: false,
        },
    };
    Ended::Failed(Failure {
        words: failure.words.chars().take(WORDS).collect(),
        ..failure
    })
}

/// What a mark came to.
enum Marked {
    Ended(Outcome),
    HandedBack,
}

/// Marks a message; nothing when its lease was taken over.
fn mark(
    conn: &mut Conn,
    message: &Message,
    lease: &str,
    ended: &Ended,
    notice_id: &str,
    now: Timestamp,
) -> QueryResult<Option<Marked>> {
    let (changed, marked) = match ended {
        Ended::Taken => (outbox::end(conn, lease, State::Sent, None, now)?, Marked::Ended(Outcome::Sent)),
        Ended::NothingToTell => {
            (outbox::end(conn, lease, State::Dropped, None, now)?, Marked::Ended(Outcome::Dropped))
        }
        Ended::Interrupted => {
            (outbox::put_back(conn, lease, message.last_error.as_deref(), now)?, Marked::HandedBack)
        }
        Ended::Failed(failure) if failure.lasting || is_hopeless(message, now) => {
            let changed = outbox::end(conn, lease, State::Dead, Some(&failure.words), now)?;
            // Of news that could not be delivered, those that tell of just that are told no further.
            if changed == 1 && message.bundle != Bundle::Undelivered.as_str() {
                let notice = Notice {
                    detail: message.id.clone(),
                    ..Notice::of_person(notice_id, Topic::Undelivered, &message.person_id, "", now)
                };
                notices::insert(conn, &notice)?;
            }
            (changed, Marked::Ended(Outcome::Dead))
        }
        Ended::Failed(failure) => {
            let again = now + backoff::wait(message.attempts);
            (
                outbox::put_back(conn, lease, Some(&failure.words), again)?,
                Marked::Ended(Outcome::Failed),
            )
        }
    };
    Ok((changed == 1).then_some(marked))
}

/// Whether a message has been tried for long enough.
fn is_hopeless(message: &Message, now: Timestamp) -> bool {
    message.begun_at.is_some_and(|begun| begun + GIVE_UP <= now)
}
