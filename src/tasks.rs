//! Tasks that go on for as long as the process does.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;

/// How long a task rests that has broken off.
const REST: Duration = Duration::from_secs(1);

/// Runs a task to its end. A panic breaks off what it was about alone: it is begun anew in a moment, from what the database
/// holds.
pub async fn keep<F: Future<Output = ()>>(task: &str, begin: impl Fn() -> F) {
    // What tasks share is whole whenever it is not locked, and no lock outlives a panic.
    while AssertUnwindSafe(begin()).catch_unwind().await.is_err() {
        tracing::error!(task, "a defect broke this off; it goes on in a moment");
        tokio::time::sleep(REST).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_task_goes_on_after_a_panic_and_ends_when_it_is_done() {
        let rounds = AtomicUsize::new(0);
        let task = keep("test", || async {
            assert!(rounds.fetch_add(1, Ordering::SeqCst) > 0, "the first round breaks off");
        });
        tokio::time::timeout(REST * 3, task).await.expect("it ends");
        assert_eq!(rounds.load(Ordering::SeqCst), 2);
    }
}
