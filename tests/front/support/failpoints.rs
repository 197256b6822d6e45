//! The strings that the tests pull inside other processes: see `src/failpoint.rs`.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// What a process finds under `FAILPOINTS`. Several processes may share it: then the first to come is stopped.
pub struct Failpoints(TempDir);

impl Failpoints {
    /// With nothing armed.
    pub fn new() -> Self {
        Self(tempfile::Builder::new().prefix("countersign-test.").tempdir().unwrap())
    }

    /// The variable's value.
    pub fn folder(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    /// Stops the next process that comes to the point.
    pub fn arm(&self, point: &str) {
        fs::write(self.file(point), "").unwrap();
    }

    /// Waits until a process is stopped there.
    pub async fn until_reached(&self, point: &str) {
        let (patience, reached) = (Instant::now() + Duration::from_secs(10), self.reached(point));
        while !reached.exists() {
            assert!(Instant::now() < patience, "nobody came to {point}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Lets go whoever is stopped there.
    pub fn release(&self, point: &str) {
        fs::remove_file(self.reached(point)).unwrap();
    }

    /// Sets the clock of every process so many microseconds ahead of the database's.
    pub fn set_clock(&self, micros: i64) {
        // Nobody reads half a number.
        fs::write(self.file("clock.new"), micros.to_string()).unwrap();
        fs::rename(self.file("clock.new"), self.file("clock")).unwrap();
    }

    fn reached(&self, point: &str) -> PathBuf {
        self.file(&format!("{point}.reached"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
