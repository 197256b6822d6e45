//! Limits on sign-in attempts, taken before any hashing.

use std::{num::NonZeroU32, time::Duration};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter, clock::Clock, clock::DefaultClock};
use sha2::{Digest, Sha256};

use crate::{
    audit::Source,
    error::{Code, Denial},
};

/// Attempts per account: a burst of 10, then one every 30 seconds.
const ACCOUNT: (Duration, u32) = (Duration::from_secs(30), 10);
/// Attempts per address, of IPv6 per /64: a burst of 60, then one every 2 seconds; an office shares one.
const ADDRESS: (Duration, u32) = (Duration::from_secs(2), 60);

type Key = [u8; 32];

/// Token buckets per account and per address, in this process's memory.
pub struct SignInLimits {
    accounts: DefaultKeyedRateLimiter<Key>,
    addresses: DefaultKeyedRateLimiter<Key>,
}

impl Default for SignInLimits {
    fn default() -> Self {
        Self {
            accounts: limiter(ACCOUNT),
            addresses: limiter(ADDRESS),
        }
    }
}

impl SignInLimits {
    /// Takes a token for the account as typed, existing or not, and one for the network it comes from.
    pub fn take(&self, account: &str, source: &Source) -> Result<(), Denial> {
        let network = source.network();
        let address = network.as_deref().unwrap_or("unknown");
        let wait = [(&self.addresses, address), (&self.accounts, account)]
            .into_iter()
            .filter_map(|(limiter, name)| limiter.check_key(&key(name)).err())
            .map(|refused| refused.wait_time_from(DefaultClock::default().now()))
            .max();
        let Some(wait) = wait else { return Ok(()) };
        let seconds = wait.as_secs() + 1;
        Err(Denial {
            retry_after_seconds: Some(seconds),
            ..Denial::new(
                Code::RateLimited,
                format!("Too many attempts to sign in. Try again in {seconds} s."),
            )
        })
    }

    /// Forgets accounts and addresses whose buckets are full again.
    pub fn tidy(&self) {
        self.accounts.retain_recent();
        self.addresses.retain_recent();
    }
}

fn limiter((every, burst): (Duration, u32)) -> DefaultKeyedRateLimiter<Key> {
    let quota = Quota::with_period(every).expect("the period is not zero");
    RateLimiter::keyed(quota.allow_burst(NonZeroU32::new(burst).expect("the burst is not zero")))
}

/// A fixed size, whatever strangers type.
fn key(name: &str) -> Key {
    Sha256::digest(name.as_bytes()).into()
}
