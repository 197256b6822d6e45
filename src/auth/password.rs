//! Passwords: argon2id, a few at a time.

use std::sync::LazyLock;

use argon2::{
    Argon2,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Semaphore,
};

use super::token::digits;
use crate::error::{Code, Denial, Error, Result};

/// A hash takes 19 MiB and a core; more at once would let strangers use up the machine.
const AT_ONCE: usize = 2;
static HASHING: Semaphore = Semaphore::const_new(AT_ONCE);

/// Where hashes are made. The allocator keeps a hash's memory for the thread that had it, so they are few.
static HASHERS: LazyLock<Runtime> = LazyLock::new(|| {
    let hashers = Builder::new_current_thread().max_blocking_threads(AT_ONCE).thread_name("hasher").build();
    hashers.expect("it asks nothing of the system")
});

/// Verified when there is no such person, so that the answer takes as long.
static NOBODY: LazyLock<String> = LazyLock::new(|| hash_now(&generate()).unwrap_or_default());

/// The longest, in bytes: more only costs time.
pub const MAX_BYTES: usize = 256;

/// Makes ready what the first sign-in would otherwise wait for.
pub async fn warm_up() {
    let _ = HASHERS.spawn_blocking(|| LazyLock::force(&NOBODY).len()).await;
}

/// A password nobody has to think of.
pub fn generate() -> String {
    digits(20)
}

/// Hashes a password (argon2id, a PHC string).
pub async fn hash(password: &str) -> Result<String> {
    let password = password.to_owned();
    bounded(move || hash_now(&password)).await?
}

/// Whether the password is the one hashed; a missing hash takes the same time and is never the one.
pub(super) async fn verify(password: &str, hash: Option<String>) -> Result<bool> {
    let password = password.to_owned();
    bounded(move || {
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| NOBODY.clone());
        let genuine = PasswordHash::new(&hash)
            .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok());
        genuine && known
    })
    .await
}

async fn bounded<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let wait = std::time::Duration::from_secs(10);
    let Ok(permit) = tokio::time::timeout(wait, HASHING.acquire()).await else {
        return Err(Denial {
            retry_after_seconds: Some(10),
            ..Denial::new(
                Code::RateLimited,
                "Too many people are signing in at once. Try again in a few seconds.",
            )
        }
        .into());
    };
    // The permit goes with the work: a client that hangs up does not end a hash under way.
    let work = move || {
        let _permit = permit;
        work()
    };
    HASHERS.spawn_blocking(work).await.map_err(|panic| Error::Internal(Box::new(panic)))
}

/// Hashes that do not end, as many as may be under way.
#[cfg(test)]
pub(super) async fn keep_busy() -> impl Drop {
    HASHING
        .acquire_many(u32::try_from(AT_ONCE).expect("few"))
        .await
        .expect("nobody closes it")
}

fn hash_now(password: &str) -> Result<String> {
    Argon2::default()
        .hash_password(password.as_bytes())
        .map(|hash| hash.to_string())
        .map_err(|error| Error::Internal(error.to_string().into()))
}
