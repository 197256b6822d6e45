//! Waiting for decisions: one notifier in the process, and one shared poll for decisions made by other processes.
//!
//! Nothing here decides anything. A wake-up that is lost costs time, never truth: whoever waits reads the action again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::{Notify, futures::OwnedNotified};
use tokio_util::sync::CancellationToken;

use super::Gate;
use crate::store::actions;

/// How often decisions of other processes are looked for, while anybody waits.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// How many ids one query names.
const CHUNK: usize = 500;

/// Who waits for which action, in this process.
#[derive(Clone, Default)]
pub struct Waiters(Arc<Inner>);

#[derive(Default)]
struct Inner {
    waited_for: Mutex<HashMap<String, Waited>>,
    anybody: Notify,
    stopping: CancellationToken,
}

/// One action and those who wait for it.
#[derive(Default)]
struct Waited {
    decided: Arc<Notify>,
    waiters: usize,
}

/// A place in the queue of those who wait for one action; leaving it forgets it.
pub struct Waiter {
    waiters: Waiters,
    action_id: String,
    decided: Arc<Notify>,
}

impl Waiters {
    /// Begins to wait. Take the place first and read the action then, or a decision in between is missed.
    pub fn join(&self, action_id: &str) -> Waiter {
        let mut waited_for = self.waited_for();
        let waited = waited_for.entry(action_id.to_owned()).or_default();
        waited.waiters += 1;
        let decided = Arc::clone(&waited.decided);
        drop(waited_for);
        self.0.anybody.notify_one();
        Waiter {
            waiters: self.clone(),
            action_id: action_id.to_owned(),
            decided,
        }
    }

    /// Wakes everybody who waits for an action. Called after the commit.
    pub(super) fn wake(&self, action_id: &str) {
        if let Some(waited) = self.waited_for().get(action_id) {
            waited.decided.notify_waiters();
        }
    }

    /// Ends every wait, now and from now on: the process is about to stop.
    pub fn stop(&self) {
        self.0.stopping.cancel();
    }

    /// Resolves when the process is about to stop.
    pub async fn stopped(&self) {
        self.0.stopping.cancelled().await;
    }

    /// How many calls wait for a decision.
    pub fn waiting(&self) -> usize {
        self.waited_for().values().map(|waited| waited.waiters).sum()
    }

    fn ids(&self) -> Vec<String> {
        self.waited_for().keys().cloned().collect()
    }

    fn waited_for(&self) -> std::sync::MutexGuard<'_, HashMap<String, Waited>> {
        // The map is whole after every statement, so a panic elsewhere leaves nothing half done in it.
        self.0.waited_for.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter {
    /// Resolves at the next wake-up after this call, even one that comes before the future is polled.
    pub fn next(&self) -> OwnedNotified {
        Arc::clone(&self.decided).notified_owned()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut waited_for = self.waiters.waited_for();
        if let Some(waited) = waited_for.get_mut(&self.action_id) {
            waited.waiters -= 1;
            if waited.waiters == 0 {
                waited_for.remove(&self.action_id);
            }
        }
    }
}

impl Gate {
    /// Looks, while anybody waits, for decisions made by other processes. Runs for ever, once a process.
    pub async fn watch_for_ever(self) {
        loop {
            let ids = self.waiters.ids();
            if ids.is_empty() {
                self.waiters.0.anybody.notified().await;
                continue;
            }
            for chunk in ids.chunks(CHUNK) {
                let chunk = chunk.to_vec();
                match self.db.read(move |conn| actions::decided_among(conn, &chunk)).await {
                    Ok(decided) => decided.iter().for_each(|id| self.waiters.wake(id)),
                    Err(error) => {
                        tracing::debug!(%error, "decisions of other processes will be looked for again");
                    }
                }
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wake_up_between_taking_the_place_and_waiting_is_not_lost() {
        let waiters = Waiters::default();
        let waiter = waiters.join("a");
        let next = waiter.next();
        waiters.wake("a");
        next.await;
        let other = waiter.next();
        waiters.wake("b");
        assert!(tokio::time::timeout(Duration::from_millis(20), other).await.is_err());
    }

    #[test]
    fn the_last_to_leave_is_forgotten() {
        let waiters = Waiters::default();
        let (first, second) = (waiters.join("a"), waiters.join("a"));
        drop(first);
        assert_eq!(waiters.ids(), ["a"]);
        drop(second);
        assert!(waiters.ids().is_empty());
    }
}
