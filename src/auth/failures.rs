//! Failed sign-ins, keys and tokens, and decisions that never reach the gate: one way into the log for all doors.
//!
//! The first of its kind is an event before it is answered. While that is fresh the others are counted in memory, and
//! every few seconds their count goes to the database: guessing costs no write per guess. A process that is killed
//! loses the count of its last seconds, never the first.
//!
//! Whether a failure waits for the database must not depend on whether there is such an account, which its time would tell:
//! what is fresh is told apart by the name that was typed, known or not.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::Auth;
use crate::{
    audit::{
        Actor, Entry, Source, What,
        floods::{Kind, count, record_unbounded},
    },
    error::{Code, Result},
    store::new_id,
};

/// So many kinds are told apart at once; the others count as one. It bounds the rows that a crowd of addresses makes.
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
#[derive(Clone, Copy, Default)]
struct Tally {
    /// How many were answered that are in no event and no counter yet.
    count: i64,
    /// Whether one of the kind is fresh in the log, or on its way there.
    fresh: bool,
}

impl Failures {
    /// Counts a failure whose like is fresh in the log; otherwise answers its kind, which is fresh from now on.
    fn count(&self, entry: &Entry, typed: Typed) -> Option<Key> {
        let mut tallies = self.lock();
        let mut kind = (Kind::of(entry), typed);
        if tallies.len() >= MOST && !tallies.contains_key(&kind) {
            kind = (kind.0.elsewhere(), Typed::default());
        }
        let tally = tallies.entry(kind.clone()).or_default();
        if tally.fresh {
            tally.count += 1;
            return None;
        }
        tally.fresh = true;
        Some(kind)
    }

    /// Takes back that one of the kind is on its way into the log. What was counted meanwhile was answered, and stays.
    fn not_written(&self, kind: &Key) {
        if let Some(tally) = self.lock().get_mut(kind) {
            tally.fresh = false;
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
    pub(super) async fn denied(&self, entry: Entry) -> Result<()> {
        self.record_failure(entry, Typed::default()).await
    }

    async fn record_failure(&self, entry: Entry, typed: Typed) -> Result<()> {
        let Some(kind) = self.failures.count(&entry, typed) else { return Ok(()) };
        let (clock, event, written) = (self.clock.clone(), new_id(), kind.0.clone());
        let recorded = self.db.write(move |conn| {
            let now = clock.now(conn)?;
            record_unbounded(conn, &event, now, &written, &entry)
        });
        let recorded = recorded.await;
        if recorded.is_err() {
            self.failures.not_written(&kind);
        }
        recorded
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
        let counted: Vec<_> = self.failures.lock().drain().filter(|(_, tally)| tally.count > 0).collect();
        if counted.is_empty() {
            return Ok(());
        }
        let (clock, rows) = (self.clock.clone(), counted.clone());
        let mut rows: Vec<_> =
            rows.into_iter().map(|((kind, _), tally)| (new_id(), kind, tally.count)).collect();
        rows.sort_by_cached_key(|(_, kind, _)| kind.order());
        let written = self.db.write(move |conn| {
            let now = clock.now(conn)?;
            rows.iter()
                .try_for_each(|(event, kind, failures)| count(conn, event, now, kind, *failures))
        });
        let written = written.await;
        if written.is_err() {
            let mut tallies = self.failures.lock();
            for (kind, earlier) in counted {
                let tally = tallies.entry(kind).or_default();
                tally.count += earlier.count;
                tally.fresh |= earlier.fresh;
            }
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
            failures.count(&entry, Typed::of(name)).is_some()
        };
        let known = || Actor::Person("p1".to_owned());
        assert!(waits(Actor::Stranger, "nobody@example.com"));
        assert!(waits(Actor::Stranger, "no.one@example.com"));
        assert!(waits(known(), "ana@example.com"));
        assert!(!waits(Actor::Stranger, "no.one@example.com"));
        assert!(!waits(known(), "ana@example.com"));
    }
}
