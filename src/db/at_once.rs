//! What is done on the thread that asks, which others need, too.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread::available_parallelism,
    time::{Duration, Instant},
};

use tokio::sync::Semaphore;

/// What takes longer than this stood still: on the disk, or on what another process left behind.
const LONG: Duration = Duration::from_secs(1);
/// For how long nothing is done here then.
const PAUSE: Duration = Duration::from_mins(1);

/// Keeps a thread free for the others, where there are several, and all of them once one stood still.
pub(super) struct AtOnce {
    places: Semaphore,
    born: Instant,
    /// In milliseconds of its age.
    not_before: AtomicU64,
}

impl AtOnce {
    pub(super) fn new() -> Self {
        let threads = available_parallelism().map_or(1, usize::from);
        Self {
            places: Semaphore::new((threads - 1).max(1)),
            born: Instant::now(),
            not_before: AtomicU64::new(0),
        }
    }

    /// Does `work` here, if that may be just now.
    pub(super) fn run<T>(&self, work: impl FnOnce() -> Option<T>) -> Option<T> {
        let _place = self.places.try_acquire().ok()?;
        if millis(self.born.elapsed()) < self.not_before.load(Ordering::Relaxed) {
            return None;
        }
        let begun = Instant::now();
        let found = work();
        let took = begun.elapsed();
        if took > LONG {
            tracing::warn!(?took, "a look-up in the database stood still");
            self.not_before.store(millis(self.born.elapsed() + PAUSE), Ordering::Relaxed);
        }
        found
    }
}

fn millis(age: Duration) -> u64 {
    u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    #[test]
    fn after_one_that_stood_still_nothing_is_done_here_for_a_while() {
        let here = AtOnce::new();
        assert_eq!(here.run(|| Some(1)), Some(1));
        let slow = || {
            sleep(LONG + Duration::from_millis(100));
            Some(2)
        };
        assert_eq!(here.run(slow), Some(2), "what it found is answered");
        assert_eq!(here.run(|| Some(3)), None);
    }
}
