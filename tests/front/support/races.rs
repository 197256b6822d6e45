//! Many at once, for the tests of races.

use std::future::Future;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Barrier;

use super::{Backend, settings};

/// Runs all contenders at once: each is a task of its own, and none begins before all are there. Returns what
/// they returned, in their order. A contender's panic is the test's.
pub async fn race<T, F>(contenders: impl IntoIterator<Item = F>) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let contenders: Vec<F> = contenders.into_iter().collect();
    let barrier = Arc::new(Barrier::new(contenders.len()));
    let tasks: Vec<_> = contenders
        .into_iter()
        .map(|contender| {
            let barrier = barrier.clone();
            tokio::spawn(async move {
                barrier.wait().await;
                contender.await
            })
        })
        .collect();
    let mut outcomes = Vec::with_capacity(tasks.len());
    for task in tasks {
        outcomes.push(task.await.unwrap_or_else(|error| resume_unwind(error.into_panic())));
    }
    outcomes
}

tokio::task_local! {
    /// Set while contenders are spread over several processes.
    pub static SEVERAL_PROCESSES: ();
}

/// Runs a race again and again, `full` times in a long run and a tenth of that otherwise, half as often where it is spread
/// over several processes, and records how many rounds were made. `round` gets the number of the round, from 0.
pub async fn repeat(name: &str, backend: Backend, full: usize, mut round: impl AsyncFnMut(usize)) {
    let mut rounds = settings::rounds(full);
    let mut spread = "";
    if SEVERAL_PROCESSES.try_with(|()| ()).is_ok() {
        spread = ", three processes";
        if rounds < full {
            rounds = rounds.div_ceil(2);
        }
    }
    let begun = Instant::now();
    for number in 0..rounds {
        round(number).await;
    }
    let seconds = begun.elapsed().as_secs_f64();
    settings::figure(&format!("{name}{spread}, {backend}: {rounds} rounds in {seconds:.1} s"));
}
