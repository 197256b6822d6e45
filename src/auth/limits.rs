//! Limits on sign-in attempts, taken before any hashing.

use std::{num::NonZeroU32, time::Duration};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter, clock::Clock, clock::DefaultClock};
use sha2::{Digest, Sha256};

use crate::{
    audit::Source,
    error::{Code, Denial},
};

/// Attempts per address, of IPv6 per /64: a burst of 60, then one every 2 seconds; an office shares one.
const ADDRESS: (Duration, u32) = (Duration::from_secs(2), 60);
/// Attempts per account from one address: a burst of 10, then one every 30 seconds.
const GUESSES: (Duration, u32) = (Duration::from_secs(30), 10);
/// Attempts per account from everywhere: a burst of 100, then one every 5 seconds.
const ACCOUNT: (Duration, u32) = (Duration::from_secs(5), 100);

type Key = [u8; 32];

/// Token buckets per address, per account at an address, and per account, in this process's memory.
///
/// A limit per account alone would be a lock that any stranger can turn: a wrong password now and then, and the owner stays
/// outside (OWASP, Authentication Cheat Sheet: account lockout as denial of service). So what slows a guesser down is counted
/// for the account at the guesser's own address, and the owner's address has a bucket of its own. The account as a whole has
/// a wider one against guessers with many addresses; one address, refused by its own, can't come near to emptying it. Whoever
/// is refused by one bucket takes nothing from the next.
pub struct SignInLimits {
    addresses: DefaultKeyedRateLimiter<Key>,
    guesses: DefaultKeyedRateLimiter<Key>,
    accounts: DefaultKeyedRateLimiter<Key>,
}

impl Default for SignInLimits {
    fn default() -> Self {
        Self {
            addresses: limiter(ADDRESS),
            guesses: limiter(GUESSES),
            accounts: limiter(ACCOUNT),
        }
    }
}

impl SignInLimits {
    /// Takes a token for the network it comes from, one for the account as typed, existing or not, from there, and one for
    /// the account.
    pub fn take(&self, account: &str, source: &Source) -> Result<(), Denial> {
        let network = source.network();
        let address = network.as_deref().unwrap_or("unknown");
        let buckets = [
            (&self.addresses, key(address)),
            (&self.guesses, key(&format!("{address} {account}"))),
            (&self.accounts, key(account)),
        ];
        let refused = buckets.into_iter().find_map(|(limiter, key)| limiter.check_key(&key).err());
        let Some(refused) = refused else { return Ok(()) };
        let seconds = refused.wait_time_from(DefaultClock::default().now()).as_secs() + 1;
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
        for limiter in [&self.addresses, &self.guesses, &self.accounts] {
            limiter.retain_recent();
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Door;

    fn from(address: &str) -> Source {
        Source {
            door: Door::Browser,
            address: Some(address.to_owned()),
        }
    }

    #[test]
    fn a_stranger_is_slowed_down_and_locks_nobody_out() {
        let limits = SignInLimits::default();
        let guesses = (0..1000).filter(|_| limits.take("owner@example.com", &from("192.0.2.1")).is_ok());
        assert_eq!(guesses.count(), 10);
        assert!(limits.take("owner@example.com", &from("192.0.2.2")).is_ok(), "the owner, elsewhere");
    }

    #[test]
    fn a_refused_address_takes_nothing_from_an_account() {
        let limits = SignInLimits::default();
        let crowd = (0..60).filter(|number| limits.take(&format!("{number}"), &from("192.0.2.1")).is_ok());
        assert_eq!(crowd.count(), 60, "the address is spent");
        assert!((0..1000).all(|_| limits.take("owner@example.com", &from("192.0.2.1")).is_err()));
        let left = (0..100).filter(|number| {
            limits.take("owner@example.com", &from(&format!("198.51.100.{number}"))).is_ok()
        });
        assert_eq!(left.count(), 100, "all that the account has");
    }

    #[test]
    fn many_addresses_share_what_an_account_has() {
        let limits = SignInLimits::default();
        let let_in = (0..250).filter(|number| {
            limits.take("owner@example.com", &from(&format!("198.51.100.{number}"))).is_ok()
        });
        assert_eq!(let_in.count(), 100);
    }
}
