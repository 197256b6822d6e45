//! Points at which the tests stop a process, to kill it or to take something away from it there, and the time they set.
//!
//! No release has any of it: the feature `failpoints` is turned on by the tests alone. Built with it, a process looks into
//! the folder that `FAILPOINTS` names. A file with the name of a point stops whoever comes there first: it is renamed to
//! `NAME.reached`, and whoever is stopped goes on when that file is gone. The file `clock` moves the database's clock.

#[cfg(feature = "failpoints")]
use armed as armed_or_not;
#[cfg(not(feature = "failpoints"))]
use released as armed_or_not;

pub use armed_or_not::{clock_offset, reach};

#[cfg(not(feature = "failpoints"))]
mod released {
    /// Nothing.
    #[inline(always)]
    pub fn reach(_: &str) {}

    /// None.
    #[inline(always)]
    pub fn clock_offset() -> i64 {
        0
    }
}

#[cfg(feature = "failpoints")]
mod armed {
    use std::{env, fs, path::PathBuf, sync::LazyLock, thread, time::Duration};

    static FOLDER: LazyLock<Option<PathBuf>> = LazyLock::new(|| env::var_os("FAILPOINTS").map(Into::into));

    /// Stops here, if the point is armed. Blocks its thread.
    pub fn reach(point: &str) {
        let Some(folder) = FOLDER.as_ref() else { return };
        let reached = folder.join(format!("{point}.reached"));
        // Of all threads and processes, one renames the file.
        if fs::rename(folder.join(point), &reached).is_err() {
            return;
        }
        while reached.exists() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// How far the clock is moved, in microseconds.
    pub fn clock_offset() -> i64 {
        let set = FOLDER.as_ref().and_then(|folder| fs::read_to_string(folder.join("clock")).ok());
        set.and_then(|micros| micros.parse().ok()).unwrap_or_default()
    }
}
