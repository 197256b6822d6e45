//! Delivering one message: take it under a lease, compose it from what is true now, hand it over, mark it.
//!
//! No transaction is held while the other side is talked to. Whoever marks names the lease, so that a worker that was taken
//! for dead changes nothing when it comes back.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use chrono::TimeDelta;
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::{
    Bundle, Channel, Failure, Letter, Notifier, Outcome,
    backoff::{self, GIVE_UP, Limits},
};
use crate::{
    db::{Conn, QueryResult, Timestamp},
    error::{Code, DEFECT, Error, Result},
    failpoint,
    store::{
        new_id,
        notices::{self, Notice, Topic},
        outbox::{self, Message, State},
    },
};

/// For how long a worker has a message before another one may take it, unless it renews that.
const LEASE: TimeDelta = TimeDelta::seconds(60);
/// How often a worker renews its lease while a delivery takes its time.
const RENEW_EVERY: Duration = Duration::from_secs(10);
/// How long the other side may take: as long as RFC 5321 lets it look at a letter.
const PATIENCE: Duration = Duration::from_mins(10);
/// How long a delivery under way may go on when the process is asked to stop.
const GRACE: Duration = Duration::from_secs(4);
/// How often it is tried to mark what became of a message, a second apart: for as long as its lease may last.
const MARK_TRIES: u32 = 60;
const MARK_EVERY: Duration = Duration::from_secs(1);
/// How much of a failure's words is kept, in characters.
const WORDS: usize = 500;

/// How a delivery came out.
enum Ended {
    Taken,
    NothingToTell,
    Failed(Failure),
    /// The process stops, or another worker has the message.
    Interrupted,
}

impl Ended {
    /// Failed for now.
    fn failed(words: impl Into<String>) -> Self {
        Self::Failed(Failure::passing(words.into()))
    }
}

/// How it came out, and what the next try keeps to, if there is one.
struct Try {
    ended: Ended,
    limits: Limits,
}

impl From<Ended> for Try {
    fn from(ended: Ended) -> Self {
        let limits = Limits::default();
        Self { ended, limits }
    }
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
        // Whatever goes wrong with one letter is that letter's failure, and ends no worker.
        let tried = AssertUnwindSafe(self.try_to_deliver(&message, &lease, stop)).catch_unwind().await;
        let tried = tried.unwrap_or_else(|_| Ended::failed(DEFECT).into());
        failpoint::reach("delivered");
        self.mark(message, lease, tried).await?;
        Ok(true)
    }

    /// Delivers a message for as long as the lease can be kept and the process may go on.
    async fn try_to_deliver(&self, message: &Message, lease: &str, stop: &CancellationToken) -> Try {
        let stopping = async {
            stop.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            tried = self.compose_and_hand_over(message) => tried,
            () = stopping => Ended::Interrupted.into(),
            () = self.keep(&message.id, lease) => Ended::Interrupted.into(),
        }
    }

    async fn compose_and_hand_over(&self, message: &Message) -> Try {
        let Ok(bundle) = message.bundle.parse() else {
            return Ended::failed("This version of Countersign does not know such messages.").into();
        };
        let channel = self.channels.iter().find(|channel| channel.name() == message.channel);
        let Some(channel) = channel else {
            return Ended::failed(format!("The process that was to send it has no {}.", message.channel))
                .into();
        };
        match self.compose(message, bundle).await {
            Ok(Some(letter)) => Try {
                ended: patiently(channel, &letter).await,
                limits: letter.limits(),
            },
            Ok(None) => Ended::NothingToTell.into(),
            Err(error) => Ended::failed(told(error)).into(),
        }
    }

    /// Renews a lease again and again; ends when it was taken over.
    async fn keep(&self, message_id: &str, lease: &str) {
        loop {
            tokio::time::sleep(RENEW_EVERY).await;
            let (clock, id, lease) = (self.gate.clock.clone(), message_id.to_owned(), lease.to_owned());
            let renewed = self.gate.db.write(move |conn| {
                let now = clock.now(conn)?;
                outbox::renew(conn, &id, &lease, now + LEASE)
            });
            match renewed.await {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "a lease could not be renewed"),
            }
        }
    }

    /// Marks what became of a message, again and again while the database is away: a message that was taken, and is never marked,
    /// is sent once more.
    async fn mark(&self, message: Message, lease: String, tried: Try) -> Result<()> {
        let (ids, marking) = (new_id(), Arc::new((message, lease, tried)));
        let mut tries = 0;
        let marked = loop {
            let (clock, ids, marking) = (self.gate.clock.clone(), ids.clone(), Arc::clone(&marking));
            let marked = self.gate.db.write(move |conn| {
                let (message, lease, tried) = marking.as_ref();
                let now = clock.now(conn)?;
                mark(conn, message, lease, tried, &ids, now)
            });
            match marked.await {
                Err(Error::Unavailable(cause)) if tries < MARK_TRIES => {
                    tracing::warn!(%cause, "what became of a message is marked as soon as the database is back");
                    tries += 1;
                    tokio::time::sleep(MARK_EVERY).await;
                }
                marked => break marked?,
            }
        };
        match marked {
            Some(Marked::Ended(outcome)) => (self.observe)(&marking.0.channel, outcome),
            Some(Marked::HandedBack) => {}
            None => tracing::warn!("a message took longer than its lease; another worker has it"),
        }
        Ok(())
    }
}

async fn patiently(channel: &Arc<dyn Channel>, letter: &Letter) -> Ended {
    match tokio::time::timeout(PATIENCE, channel.deliver(letter)).await {
        Ok(Ok(())) => Ended::Taken,
        Ok(Err(failure)) => Ended::Failed(failure),
        Err(_) => Ended::failed(format!("No answer within {} minutes.", PATIENCE.as_secs() / 60)),
    }
}

/// What people are told of an error of our own; its cause is logged.
fn told(error: Error) -> &'static str {
    match error.into_denial().code {
        Code::Unavailable => "The database could not be reached while it was written.",
        _ => DEFECT,
    }
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
    tried: &Try,
    notice_id: &str,
    now: Timestamp,
) -> QueryResult<Option<Marked>> {
    let id = &message.id;
    let (changed, marked) = match &tried.ended {
        Ended::Taken => (outbox::end(conn, id, lease, State::Sent, None, now)?, Marked::Ended(Outcome::Sent)),
        Ended::NothingToTell => {
            (outbox::end(conn, id, lease, State::Dropped, None, now)?, Marked::Ended(Outcome::Dropped))
        }
        Ended::Interrupted => {
            (outbox::put_back(conn, id, lease, message.last_error.as_deref(), now)?, Marked::HandedBack)
        }
        Ended::Failed(failure) if failure.lasting || is_hopeless(message, now) => {
            let changed = outbox::end(conn, id, lease, State::Dead, Some(&kept(&failure.words)), now)?;
            // Of news that could not be delivered, those that tell of just that are told no further; and of one mailbox
            // owners hear once a day.
            let told = message.bundle == Bundle::Undelivered.as_str()
                || outbox::is_reported(conn, &message.person_id, now - TimeDelta::days(1))?;
            if changed == 1 && !told {
                let notice = Notice::of_person(notice_id, Topic::Undelivered, &message.person_id, id, now);
                notices::insert(conn, &notice)?;
            }
            (changed, Marked::Ended(Outcome::Dead))
        }
        Ended::Failed(failure) => {
            let again = backoff::next(message.attempts, &tried.limits, now);
            (
                outbox::put_back(conn, id, lease, Some(&kept(&failure.words)), again)?,
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

fn kept(words: &str) -> String {
    words.chars().take(WORDS).collect()
}
