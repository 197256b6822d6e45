//! How writing goes in this process: how much of it is under way, and whether the database refused it just now.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::error::{Error, Result};

/// How long a write that found the database away, full or locked speaks for the next one.
const TELLING: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct Pulse {
    under_way: AtomicUsize,
    /// When the latest write failed; nothing if it went well.
    failed: Mutex<Option<Instant>>,
}

/// One more write under way, for as long as this lives.
pub(super) struct Counted<'a>(&'a Pulse);

impl Pulse {
    pub(super) fn begin(&self) -> Counted<'_> {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        Counted(self)
    }

    pub(super) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::SeqCst)
    }

    /// Whether the latest write failed, and not long ago.
    pub(super) fn falters(&self) -> bool {
        self.failed().is_some_and(|at| at.elapsed() < TELLING)
    }

    fn failed(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted<'_> {
    /// Remembers how the write ended.
    pub(super) fn ended<T>(&self, outcome: Result<T>) -> Result<T> {
        match &outcome {
            Err(Error::Unavailable(_)) => *self.0.failed() = Some(Instant::now()),
            _ => *self.0.failed() = None,
        }
        outcome
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}
