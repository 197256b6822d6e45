//! What was answered and is yet to be written: failures, told apart by their kind.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::audit::{Entry, floods::Kind};

/// So many kinds are told apart at once; of strangers the others count as one. It bounds the rows that a crowd of addresses
/// makes.
const MOST: usize = 1000;

/// The failures since their counts were last written.
#[derive(Default)]
pub struct Failures {
    tallies: Mutex<HashMap<Key, Tally>>,
    /// Held while counts are on their way to the database: until they are there, or given back.
    pub(super) writing: tokio::sync::Mutex<()>,
}

/// Stands for what somebody typed to say who they are; nothing where they did not have to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(in crate::auth) struct Typed(u64);

impl Typed {
    pub(in crate::auth) fn of(name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// What is counted together until it is written.
pub(super) type Key = (Kind, Typed);

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
    UnderWay(watch::Receiver<Step>),
    Fresh,
}

/// How far the one that is on its way has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Sent,
    Logged,
    Lost,
}

impl Standing {
    /// Whoever wrote may have ended without a word.
    fn is_under_way(&self) -> bool {
        matches!(self, Self::UnderWay(step) if step.has_changed().is_ok())
    }
}

/// What somebody has to do who is to be told of a failure.
pub(super) enum Course {
    /// Write it down, and say whether that went well.
    Write(Key, watch::Sender<Step>),
    /// Wait until another of its kind is written down.
    Wait(watch::Receiver<Step>),
    /// Nothing: it is counted.
    Counted,
}

/// What is to be written of one kind.
pub(super) struct Counted {
    pub(super) key: Key,
    pub(super) count: i64,
    pub(super) first: Entry,
}

impl Failures {
    /// Counts a failure whose like is fresh in the log; otherwise says how one gets there.
    pub(super) fn count(&self, entry: &Entry, typed: Typed) -> Course {
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
            Standing::UnderWay(step) if tally.standing.is_under_way() => Course::Wait(step.clone()),
            Standing::UnderWay(_) | Standing::Unknown => {
                let (tell, step) = watch::channel(Step::Sent);
                tally.standing = Standing::UnderWay(step);
                Course::Write(key, tell)
            }
        }
    }

    /// The one that was on its way is no longer.
    pub(super) fn settle(&self, key: &Key, step: Step) {
        if let Some(tally) = self.lock().get_mut(key) {
            tally.standing = if step == Step::Logged { Standing::Fresh } else { Standing::Unknown };
        }
    }

    /// Takes what was counted. From now on none is fresh.
    pub(super) fn take(&self) -> Vec<Counted> {
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
    pub(super) fn give_back(&self, counted: Vec<Counted>) {
        let mut tallies = self.lock();
        for Counted { key, count, first } in counted {
            let tally = tallies.entry(key).or_default();
            tally.count += count;
            tally.first = Some(first);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Tally>> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        audit::{Actor, Source, What},
        error::Code,
    };

    #[test]
    fn the_first_of_each_name_waits_for_the_log_whether_there_is_such_an_account_or_not() {
        let failures = Failures::default();
        let waits = |actor: Actor, name: &str| {
            let entry = Entry::denied(What::SignIn, actor, &Source::CLI, Code::Unauthenticated);
            match failures.count(&entry, Typed::of(name)) {
                Course::Write(key, _) => {
                    failures.settle(&key, Step::Logged);
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
