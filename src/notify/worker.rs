//! The workers of a process that serves.

use std::time::Duration;

use chrono::TimeDelta;
use futures_util::future::join_all;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Notifier;
use crate::{
    error::Result,
    store::{notices, outbox},
    tasks::keep,
};

/// How often a worker that has nothing to do looks again.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How many messages a process delivers at once: one that hangs keeps none of the others.
const AT_ONCE: usize = 4;
/// How often what is no longer needed is forgotten, and how much of it at a time.
const TIDY_EVERY: Duration = Duration::from_secs(60);
const TIDY: i64 = 1000;
/// How long messages are kept that came to an end: delivered, given up, or not needed.
const KEPT: TimeDelta = TimeDelta::days(30);
/// How long a notice or a message waits for a channel, in days: whoever sets one up later is not told of last week.
const STALE_DAYS: i64 = 1;

/// The workers; they end when this is dropped, and in good order when it is stopped.
pub struct Workers {
    stop: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

impl Notifier {
    /// Sets the workers to work.
    pub fn start(&self) -> Workers {
        let stop = CancellationToken::new();
        let mut tasks = vec![self.begin("mail: tidying up", &stop, Self::tidy_for_ever)];
        if self.is_on() {
            tasks.push(self.begin("mail: planning", &stop, Self::plan_for_ever));
            tasks.extend((0..AT_ONCE).map(|_| self.begin("mail: delivering", &stop, Self::deliver_for_ever)));
        }
        Workers { stop, tasks }
    }

    fn begin<F>(
        &self,
        task: &'static str,
        stop: &CancellationToken,
        run: fn(Self, CancellationToken) -> F,
    ) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (notifier, stop) = (self.clone(), stop.clone());
        tokio::spawn(keep(task, move || run(notifier.clone(), stop.clone())))
    }

    async fn plan_for_ever(self, stop: CancellationToken) {
        while stopping(&stop, LOOK_EVERY).await.is_none() {
            if let Err(error) = self.plan_all(&stop).await {
                tracing::warn!(%error, "what is to be told is looked at again in a moment");
            }
        }
    }

    /// Makes messages of all that is to be told by now.
    pub async fn plan_all(&self, stop: &CancellationToken) -> Result<()> {
        let clock = self.gate.clock.clone();
        let due = self.gate.db.read(move |conn| {
            let now = clock.now(conn)?;
            notices::any_due(conn, now)
        });
        if !due.await? {
            return Ok(());
        }
        while !stop.is_cancelled() && self.plan().await? > 0 {}
        Ok(())
    }

    async fn deliver_for_ever(self, stop: CancellationToken) {
        while stopping(&stop, LOOK_EVERY).await.is_none() {
            if let Err(error) = self.deliver_all(&stop).await {
                tracing::warn!(%error, "what is to be delivered is looked at again in a moment");
            }
        }
    }

    /// Delivers all that is due by now, one after the other.
    pub async fn deliver_all(&self, stop: &CancellationToken) -> Result<()> {
        let clock = self.gate.clock.clone();
        let due = self.gate.db.read(move |conn| {
            let now = clock.now(conn)?;
            outbox::any_due(conn, now)
        });
        if !due.await? {
            return Ok(());
        }
        while !stop.is_cancelled() && self.deliver_next(stop).await? {}
        Ok(())
    }

    async fn tidy_for_ever(self, stop: CancellationToken) {
        while stopping(&stop, TIDY_EVERY).await.is_none() {
            if let Err(error) = self.tidy().await {
                tracing::warn!(%error, "old messages are forgotten later");
            }
        }
    }

    /// Forgets old messages, and gives up what waits for a channel in vain. Writes nothing where there is nothing to do.
    pub async fn tidy(&self) -> Result<()> {
        let (clock, is_on) = (self.gate.clock.clone(), self.is_on());
        let old = self.gate.db.read(move |conn| {
            let now = clock.now(conn)?;
            let stale = now - TimeDelta::days(STALE_DAYS);
            let is_stale = !is_on && (notices::any_due(conn, stale)? || outbox::any_due(conn, stale)?);
            Ok((is_stale, outbox::any_before(conn, now - KEPT)?))
        });
        let (is_stale, is_old) = old.await?;
        if !is_stale && !is_old {
            return Ok(());
        }
        let clock = self.gate.clock.clone();
        let tidied = self.gate.db.write(move |conn| {
            let now = clock.now(conn)?;
            if is_old {
                outbox::forget(conn, now - KEPT, TIDY)?;
            }
            if !is_stale {
                return Ok(0);
            }
            let stale = now - TimeDelta::days(STALE_DAYS);
            Ok(notices::forget(conn, stale, TIDY)? + outbox::drop_stale(conn, stale, TIDY, now)?)
        });
        let untold = tidied.await?;
        if untold > 0 {
            tracing::info!(untold, "nobody was told for a day, because this process has no way to tell them");
        }
        Ok(())
    }
}

impl Workers {
    /// Takes on nothing more, and waits until what is under way has been delivered or handed back.
    pub async fn stop(mut self) {
        self.stop.cancel();
        join_all(&mut self.tasks).await;
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Waits, and answers whether the process stops meanwhile.
async fn stopping(stop: &CancellationToken, wait: Duration) -> Option<()> {
    tokio::time::timeout(wait, stop.cancelled()).await.ok()
}
