//! Pruning: old actions lose their payload and keep their row, so that their keys still answer.

use chrono::TimeDelta;

use super::Gate;
use crate::{
    audit::{self, Actor, Entry, Source, What},
    error::{Error, Result},
    store::{actions, new_id},
};

/// How many actions one transaction takes on.
const BATCH: i64 = 500;

impl Gate {
    /// Drops params, reason, note and changes of actions that ended longer ago than `older_than`. Returns how many.
    ///
    /// # Errors
    /// `Setup` when that reaches into a retry window, where a repeated request is still answered in full.
    pub async fn prune(&self, older_than: TimeDelta) -> Result<usize> {
        let windows = self.registry.kinds().map(|kind| self.policy.retry_windows.delta_of(kind.spec()));
        let longest = windows.max().unwrap_or_else(TimeDelta::zero);
        if older_than <= longest {
            let hours = (longest.num_minutes() + 59) / 60;
            return Err(Error::Setup(format!(
                "Nothing was pruned: repeated requests are answered from actions of the last {hours} h. Prune what ended longer ago than that."
            )));
        }
        let mut pruned = 0;
        loop {
            let (clock, event) = (self.clock.clone(), new_id());
            let batch = self.db.write(move |conn| {
                let now = clock.now(conn)?;
                let batch = actions::prune(conn, now - older_than, now, BATCH)?;
                if batch > 0 {
                    let entry =
                        Entry::new(What::Prune, Actor::System, &Source::CLI, "done").with("actions", batch);
                    audit::record(conn, &event, now, &entry)?;
                }
                Ok(batch)
            });
            match batch.await? {
                0 => return Ok(pruned),
                batch => pruned += batch,
            }
        }
    }
}
