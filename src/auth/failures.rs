//! Failed sign-ins, keys and tokens, agents' calls beyond their scopes and limits, and decisions that never reach the gate: one
//! way into the log for all doors.
//!
//! The first of its kind is an event before it is answered, and before any other of its kind is. While that is fresh the others
//! are counted in memory, and every few seconds their count goes to the database: guessing costs no write per guess, and an agent
//! that is turned away takes nobody's place in the queue of writes. A process that is killed loses the count of its last seconds,
//! never the first.
//!
//! Whether a failure waits for the database must not depend on whether there is such an account, which its time would tell:
//! what is fresh is told apart by the name that was typed, known or not.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

use super::Auth;
use crate::{
    audit::{
        Actor, Entry, Source, What,
        floods::{Kind, count, record_unbounded},
    },
    error::{Code, Error, Result},
    store::new_id,
};

/// So many kinds are told apart at once; of strangers the others count as one. It bounds the rows that a crowd of addresses
/// makes.
const MOST: usize = 1000;
/// How long a process that is to end waits for the database. With the grace of requests under way it is less than the ten
/// seconds after which a container is killed.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The failures since their counts were last written.
#[derive(Default)]
pub struct Failures(Mutex<HashMap<Key, Tally>>);

/// Stands for what somebody typed to say who they are; nothing where they did not have to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Typed(u64);

impl Typed {
    pub(super) fn of(name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// What is counted together until it is written.
type Key = (Kind, Typed);

/// The failures of one kind.
#[derive(Default)]
struct Tally {
    /// How many were answered that are in no event and no counter yet.
    count: i64,
    /// The first of them, for an event of its own if a new minute has begun by then.
    first: Option<Entry>,
    standing: Standing,
}

/// Whether one of the kind is in the log.
#[derive(Default)]
enum Standing {
    #[default]
    Unknown,
    /// It is on its way there; who waits hears whether it arrived.
    UnderWay(watch::Receiver<Option<bool>>),
    Fresh,
}

impl Standing {
    /// Whoever wrote may have ended without a word.
    fn is_under_way(&self) -> bool {
        matches!(self, Self::UnderWay(arrived) if arrived.has_changed().is_ok())
    }
}

/// What somebody has to do who is to be told of a failure.
enum Course {
    /// Write it down, and say whether that went well.
    Write(Key, watch::Sender<Option<bool>>),
    /// Wait until another of its kind is written down.
    Wait(watch::Receiver<Option<bool>>),
    /// Nothing: it is counted.
    Counted,
}

/// What is to be written of one kind.
struct Counted {
    key: Key,
    count: i64,
    first: Entry,
}

impl Failures {
    /// Counts a failure whose like is fresh in the log; otherwise says how one gets there.
    fn count(&self, entry: &Entry, typed: Typed) -> Course {
        let mut tallies = self.lock();
        let mut key = (Kind::of(entry), typed);
        if tallies.len() >= MOST && !tallies.contains_key(&key) {
            key = (key.0.elsewhere(), Typed::default());
        }
        let tally = tallies.entry(key.clone()).or_default();
        match &tally.standing {
            Standing::Fresh => {
                tally.count += 1;
                tally.first.get_or_insert_with(|| entry.clone());
                Course::Counted
            }
            Standing::UnderWay(arrived) if tally.standing.is_under_way() => Course::Wait(arrived.clone()),
            Standing::UnderWay(_) | Standing::Unknown => {
                let (tell, arrived) = watch::channel(None);
                tally.standing = Standing::UnderWay(arrived);
                Course::Write(key, tell)
            }
        }
    }

    /// Whether the one that was on its way has arrived.
    fn arrived(&self, key: &Key, well: bool) {
        if let Some(tally) = self.lock().get_mut(key) {
            tally.standing = if well { Standing::Fresh } else { Standing::Unknown };
        }
    }

    /// Takes what was counted. From now on none is fresh.
    fn take(&self) -> Vec<Counted> {
        let mut tallies = self.lock();
        let taken = tallies.iter_mut().filter_map(|(key, tally)| {
            let count = std::mem::take(&mut tally.count);
            Some(Counted {
                key: key.clone(),
                count,
                first: tally.first.take()?,
            })
        });
        let taken = taken.collect();
        tallies.retain(|_, tally| tally.standing.is_under_way());
        taken
    }

    /// Gives back what could not be written.
    fn give_back(&self, counted: Vec<Counted>) {
        let mut tallies = self.lock();
        for Counted { key, count, first } in counted {
            let tally = tallies.entry(key).or_default();
            tally.count += count;
            tally.first = Some(first);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Tally>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Auth {
    /// Records that somebody was not let in.
    pub(super) async fn failed(&self, what: What, actor: Actor, source: &Source, code: Code) -> Result<()> {
        self.failed_as(Typed::default(), what, actor, source, code).await
    }

    /// The same of somebody who said who they are.
    pub(super) async fn failed_as(
        &self,
        typed: Typed,
        what: What,
        actor: Actor,
        source: &Source,
        code: Code,
    ) -> Result<()> {
        self.record_failure(Entry::denied(what, actor, source, code), typed).await
    }

    /// Records a denial of somebody who is not stopped from repeating it as often as they like.
    pub async fn denied(&self, entry: Entry) -> Result<()> {
        self.record_failure(entry, Typed::default()).await
    }

    async fn record_failure(&self, entry: Entry, typed: Typed) -> Result<()> {
        loop {
            let (key, tell) = match self.failures.count(&entry, typed) {
                Course::Counted => return Ok(()),
                Course::Write(key, tell) => (key, tell),
                Course::Wait(mut arrived) => {
                    let arrived = arrived.wait_for(Option::is_some).await.ok().and_then(|well| *well);
                    if arrived == Some(false) {
                        return Err(Error::Unavailable("another of its kind could not be logged".into()));
                    }
                    continue;
                }
            };
            // On a task of its own: whoever asked may hang up, and others wait for what becomes of it.
            let written = tokio::spawn(self.clone().write_down(key, entry, tell));
            return written.await.map_err(|panic| Error::Internal(panic.into()))?;
        }
    }

    /// Writes down a failure, and tells those who wait for it.
    async fn write_down(self, key: Key, entry: Entry, tell: watch::Sender<Option<bool>>) -> Result<()> {
        let (clock, event, kind) = (self.clock.clone(), new_id(), key.0.clone());
        let written = self.db.write(move |conn| {
            let now = clock.now(conn)?;
            record_unbounded(conn, &event, now, &kind, &entry)
        });
        let written = written.await;
        self.failures.arrived(&key, written.is_ok());
        let _ = tell.send(Some(written.is_ok()));
        written
    }

    /// What a process does before it ends: it writes down what was counted, unless the database keeps it waiting.
    pub async fn write_down_the_last_failures(&self) {
        let written = tokio::time::timeout(LAST_WORDS, self.write_down_failures());
        match written.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the last failed sign-ins could not be counted"),
            Err(_) => tracing::warn!("the last failed sign-ins could not be counted in time"),
        }
    }

    /// Writes down how many failures there were since the last time.
    pub async fn write_down_failures(&self) -> Result<()> {
        let counted = self.failures.take();
        if counted.is_empty() {
            return Ok(());
        }
        let mut rows: Vec<_> = counted
            .iter()
            .map(|one| (new_id(), one.key.0.clone(), one.count, one.first.clone()))
            .collect();
        rows.sort_by_cached_key(|(_, kind, ..)| kind.order());
        let clock = self.clock.clone();
        let written = self.db.write(move |conn| {
            let now = clock.now(conn)?;
            rows.iter().try_for_each(|(event, kind, failures, first)| {
                count(conn, event, now, kind, *failures, first)
            })
        });
        let written = written.await;
        if written.is_err() {
            self.failures.give_back(counted);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_each_name_waits_for_the_log_whether_there_is_such_an_account_or_not() {
        let failures = Failures::default();
        let waits = |actor: Actor, name: &str| {
            let entry = Entry::denied(What::SignIn, actor, &Source::CLI, Code::Unauthenticated);
            match failures.count(&entry, Typed::of(name)) {
                Course::Write(key, _) => {
                    failures.arrived(&key, true);
                    true
                }
                Course::Wait(_) => true,
                Course::Counted => false,
            }
        };
        let known = || Actor::Person("p1".to_owned());
        assert!(waits(Actor::Stranger, "nobody@example.com"));
        assert!(waits(Actor::Stranger, "no.one@example.com"));
        assert!(waits(known(), "ana@example.com"));
        assert!(!waits(Actor::Stranger, "no.one@example.com"));
        assert!(!waits(known(), "ana@example.com"));
    }

    #[test]
    fn nothing_is_left_of_who_ended_without_a_word() {
        let failures = Failures::default();
        let entry = Entry::denied(What::SignIn, Actor::Stranger, &Source::CLI, Code::Unauthenticated);
        let Course::Write(_, tell) = failures.count(&entry, Typed::default()) else {
            panic!("the first is to be written")
        };
        failures.take();
        assert!(matches!(failures.count(&entry, Typed::default()), Course::Wait(_)));
        drop(tell);
        failures.take();
        assert!(failures.lock().is_empty());
    }
}
