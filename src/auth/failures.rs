//! Failed sign-ins, keys and tokens, agents' calls beyond their scopes and limits, and decisions that never reach the gate: one
//! way into the log for all doors.
//!
//! The first of its kind is an event before it is answered, and before any other of its kind is. While that is fresh the others
//! are counted in memory, and every few seconds their count goes to the database: guessing costs no write per guess, and an agent
//! that is turned away takes nobody's place in the queue of writes. A process that is killed loses the counts of its last seconds:
//! never the first after some quiet, but maybe the first of a minute or of a tool. A count whose COMMIT got no answer may be added
//! twice. Who hangs up while the first is on its way is not counted.
//!
//! Whether a failure waits for the database must not depend on whether there is such an account, which its time would tell:
//! what is fresh is told apart by the name that was typed, known or not.

mod tallies;

use std::time::Duration;

use tokio::sync::watch;

use super::Auth;
use crate::{
    audit::{
        Actor, Entry, Source, What,
        floods::{count, record_unbounded},
    },
    error::{Code, Error, Result},
    store::new_id,
};
pub use tallies::Failures;
pub(super) use tallies::Typed;
use tallies::{Course, Key, Step};

/// How long a process that is to end waits for the database. With the grace of requests under way it is less than the ten
/// seconds after which a container is killed.
const LAST_WORDS: Duration = Duration::from_secs(1);

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
                Course::Wait(mut step) => {
                    let end = step.wait_for(|step| *step != Step::Sent).await.ok().map(|step| *step);
                    if end == Some(Step::Lost) {
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
    async fn write_down(self, key: Key, entry: Entry, tell: watch::Sender<Step>) -> Result<()> {
        let (clock, event, kind) = (self.clock.clone(), new_id(), key.0.clone());
        let written = self.db.write(move |conn| {
            let now = clock.now(conn)?;
            record_unbounded(conn, &event, now, &kind, &entry)
        });
        let written = written.await;
        let step = if written.is_ok() { Step::Logged } else { Step::Lost };
        self.failures.settle(&key, step);
        let _ = tell.send(step);
        written
    }

    /// What a process does before it ends: it writes down what was counted, unless the database keeps it waiting.
    pub async fn write_down_the_last_failures(&self) {
        let written = tokio::time::timeout(LAST_WORDS, self.write_down_failures());
        match written.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the last denials could not be counted"),
            Err(_) => tracing::warn!("the last denials could not be counted in time"),
        }
    }

    /// Writes down how many failures there were since the last time, after whoever is about to.
    pub async fn write_down_failures(&self) -> Result<()> {
        let auth = self.clone();
        // On a task of its own: what was taken must not be lost with whoever asked.
        let written = tokio::spawn(async move {
            let _writing = auth.failures.writing.lock().await;
            auth.write_down_counted().await
        });
        written.await.map_err(|panic| Error::Internal(panic.into()))?
    }

    async fn write_down_counted(&self) -> Result<()> {
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
