//! Random choices that a seed repeats.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

/// SplitMix64: small, and good enough to choose with.
pub struct Random(u64);

impl Random {
    pub fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A number from `first` to `last`.
    pub fn between(&mut self, first: i64, last: i64) -> i64 {
        first + i64::try_from(self.below(last.abs_diff(first) + 1)).unwrap()
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of several; none of nothing.
    pub fn choose<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        let count = u64::try_from(among.len()).unwrap();
        (count > 0).then(|| &among[usize::try_from(self.below(count)).unwrap()])
    }
}

/// The seed to begin with: `COUNTERSIGN_TEST_SEED` to repeat a run, otherwise one that no run had before.
pub fn seed() -> u64 {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    env::var("COUNTERSIGN_TEST_SEED").ok().map_or_else(now, |seed| seed.parse().unwrap())
}
