//! Passwords: argon2id, a few at a time.

use std::{cell::RefCell, sync::LazyLock};

use argon2::{
    Algorithm, Argon2, Block, Params, Version,
    password_hash::phc::{Output, ParamsString, PasswordHash, Salt},
};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Semaphore,
};

use super::token::digits;
use crate::error::{Code, Denial, Error, Result};

/// A hash takes 19 MiB and a core; more at once would let strangers use up the machine.
const AT_ONCE: usize = 2;
/// How much is asked for at once, in KiB; what is not used costs nothing. A piece of up to 32 MiB that was given back is what
/// glibc would keep from then on, in each of its threads.
const ROOM: usize = 33 * 1024;
static HASHING: Semaphore = Semaphore::const_new(AT_ONCE);

/// Where hashes are made: few threads, each with memory for one.
static HASHERS: LazyLock<Runtime> = LazyLock::new(|| {
    let hashers = Builder::new_current_thread().max_blocking_threads(AT_ONCE).thread_name("hasher").build();
    hashers.expect("it asks nothing of the system")
});

thread_local! {
    /// Asked of the allocator for each hash anew, it would stay with the process many times over. It goes with the thread, some
    /// seconds after the last hash.
    static MEMORY: RefCell<Vec<Block>> = const { RefCell::new(Vec::new()) };
}

/// The longest, in bytes: more only costs time.
pub const MAX_BYTES: usize = 256;

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
        if let Some(hash) = hash {
            let read = PasswordHash::new(&hash).ok();
            if let Some(genuine) = read.and_then(|hash| is_of(&hash, password.as_bytes())) {
                return Ok(genuine);
            }
            tracing::error!("the hash of a password in the database can't be read");
        }
        let _ = is_of(&nobodys()?, password.as_bytes());
        Ok(false)
    })
    .await?
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
    HASHERS.spawn_blocking(work).await.map_err(Error::internal)
}

/// Hashes that do not end, as many as may be under way.
#[cfg(test)]
pub(super) async fn keep_busy() -> impl Drop {
    HASHING
        .acquire_many(u32::try_from(AT_ONCE).expect("few"))
        .await
        .expect("nobody closes it")
}

/// Whether a hash is of that password; nothing when it can't be computed.
fn is_of(hash: &PasswordHash, password: &[u8]) -> Option<bool> {
    let algorithm = Algorithm::try_from(hash.algorithm.as_str()).ok()?;
    let version = hash.version.map_or(Ok(Version::default()), Version::try_from).ok()?;
    let argon2 = Argon2::new(algorithm, version, Params::try_from(hash).ok()?);
    let (salt, expected) = (hash.salt.as_ref()?, hash.hash.as_ref()?);
    // The library compares these in constant time.
    Some(computed(&argon2, password, salt, expected.len()).ok()? == *expected)
}

fn hash_now(password: &str) -> Result<String> {
    let salt = Salt::generate();
    let hash = computed(&Argon2::default(), password.as_bytes(), &salt, Params::DEFAULT_OUTPUT_LEN)?;
    Ok(by_default(salt, hash)?.to_string())
}

/// What is looked at when there is no such person, so that the answer takes as long. It was not made of any password.
fn nobodys() -> Result<PasswordHash> {
    let salt = Salt::new(&[0; Salt::RECOMMENDED_LENGTH]).map_err(Error::internal)?;
    by_default(salt, Output::new(&[0; Params::DEFAULT_OUTPUT_LEN]).map_err(Error::internal)?)
}

fn computed(argon2: &Argon2<'_>, password: &[u8], salt: &[u8], length: usize) -> Result<Output> {
    let mut hash = vec![0; length];
    MEMORY.with_borrow_mut(|memory| {
        let blocks = argon2.params().block_count();
        memory
            .try_reserve_exact(blocks.max(ROOM).saturating_sub(memory.len()))
            .map_err(Error::internal)?;
        memory.resize(blocks, Block::new());
        argon2
            .hash_password_into_with_memory(password, salt, &mut hash, memory)
            .map_err(Error::internal)
    })?;
    Output::new(&hash).map_err(Error::internal)
}

/// A hash as the library makes it unless told otherwise.
fn by_default(salt: Salt, hash: Output) -> Result<PasswordHash> {
    Ok(PasswordHash {
        algorithm: Algorithm::default().ident(),
        version: Some(Version::default().into()),
        params: ParamsString::try_from(&Params::default()).map_err(Error::internal)?,
        salt: Some(salt),
        hash: Some(hash),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_its_password_whatever_was_computed_before() {
        let hashes = ["one", "another"].map(|password| hash_now(password).unwrap());
        for _ in 0..2 {
            for (number, hash) in hashes.iter().enumerate() {
                let hash = PasswordHash::new(hash).unwrap();
                for (other, password) in ["one", "another"].into_iter().enumerate() {
                    assert_eq!(is_of(&hash, password.as_bytes()), Some(number == other));
                }
            }
        }
    }

    #[test]
    fn nobodys_hash_has_the_form_of_any_other_and_is_of_no_password() {
        let (nobodys, hash) = (nobodys().unwrap(), hash_now("one").unwrap());
        let hash = PasswordHash::new(&hash).unwrap();
        let form = |hash: &PasswordHash| {
            let lengths = (hash.salt.unwrap().len(), hash.hash.unwrap().len());
            (hash.algorithm, hash.version, hash.params.clone(), lengths)
        };
        assert_eq!(form(&nobodys), form(&hash));
        assert_eq!(is_of(&nobodys, b"one"), Some(false));
    }
}
