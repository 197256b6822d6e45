//! Passwords: argon2id, a few at a time.

use std::{cell::RefCell, sync::LazyLock, time::Duration};

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
/// How much is asked for at once, in KiB; what is not used takes no memory. A mapped piece of up to 32 MiB that is given back
/// raises glibc's thresholds (mallopt(3), `M_MMAP_THRESHOLD`): each arena would keep as much from then on.
const ROOM: usize = 33 * 1024;
static HASHING: Semaphore = Semaphore::const_new(AT_ONCE);

/// Where hashes are made: few threads, each with memory for one.
static HASHERS: LazyLock<Runtime> = LazyLock::new(|| {
    let hashers = Builder::new_current_thread()
        .max_blocking_threads(AT_ONCE)
        .thread_keep_alive(Duration::from_secs(10))
        .thread_name("hasher")
        .build();
    hashers.expect("it asks nothing of the system")
});

thread_local! {
    /// Memory for one hash, kept for the next: pages that are new are cleared first. It goes with the thread, seconds after its
    /// last hash.
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
    bounded(move || Made::now(password.as_bytes())?.written()).await?
}

/// Whether the password is the one hashed. A hash that is missing, or can't be read, takes the same time and is never the one.
pub(super) async fn verify(password: &str, hash: Option<String>) -> Result<bool> {
    let password = password.to_owned();
    bounded(move || {
        let read = hash.as_deref().and_then(Made::read);
        if hash.is_some() && read.is_none() {
            tracing::error!("the hash of a password in the database can't be read");
        }
        let known = read.is_some();
        let made = read.map_or_else(Made::of_nothing, Ok)?;
        Ok(made.is_of(password.as_bytes())? && known)
    })
    .await?
}

async fn bounded<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let wait = Duration::from_secs(10);
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

/// A hash, and how it was made.
struct Made {
    by: Argon2<'static>,
    salt: Salt,
    hash: Output,
}

impl Made {
    /// As it is written, if this program could have made it.
    fn read(written: &str) -> Option<Self> {
        let written = PasswordHash::new(written).ok()?;
        let algorithm = Algorithm::try_from(written.algorithm.as_str()).ok()?;
        let version = written.version.map_or(Ok(Version::default()), Version::try_from).ok()?;
        Some(Self {
            by: Argon2::new(algorithm, version, Params::try_from(&written).ok()?),
            salt: written.salt?,
            hash: written.hash?,
        })
    }

    fn now(password: &[u8]) -> Result<Self> {
        let (by, salt) = (Argon2::default(), Salt::generate());
        let hash = computed(&by, password, &salt, Params::DEFAULT_OUTPUT_LEN)?;
        Ok(Self { by, salt, hash })
    }

    /// What stands in where there is no hash: of the form of any other, and of no password.
    fn of_nothing() -> Result<Self> {
        Ok(Self {
            by: Argon2::default(),
            salt: Salt::new(&[0; Salt::RECOMMENDED_LENGTH]).map_err(Error::internal)?,
            hash: Output::new(&[0; Params::DEFAULT_OUTPUT_LEN]).map_err(Error::internal)?,
        })
    }

    /// # Errors
    /// For want of memory.
    fn is_of(&self, password: &[u8]) -> Result<bool> {
        // The library compares these in constant time.
        Ok(computed(&self.by, password, &self.salt, self.hash.len())? == self.hash)
    }

    /// As a PHC string. It was made now: by the library's defaults.
    fn written(self) -> Result<String> {
        let written = PasswordHash {
            algorithm: Algorithm::default().ident(),
            version: Some(Version::default().into()),
            params: ParamsString::try_from(self.by.params()).map_err(Error::internal)?,
            salt: Some(self.salt),
            hash: Some(self.hash),
        };
        Ok(written.to_string())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn now(password: &str) -> String {
        Made::now(password.as_bytes()).unwrap().written().unwrap()
    }

    #[test]
    fn a_hash_is_of_its_password_whatever_was_computed_before() {
        let hashes = ["one", "another"].map(now);
        for _ in 0..2 {
            for (number, hash) in hashes.iter().enumerate() {
                let made = Made::read(hash).unwrap();
                for (other, password) in ["one", "another"].into_iter().enumerate() {
                    assert_eq!(made.is_of(password.as_bytes()).unwrap(), number == other);
                }
            }
        }
    }

    #[test]
    fn what_stands_in_for_a_hash_has_the_form_of_any_and_is_of_no_password() {
        let (nothing, made) = (Made::of_nothing().unwrap(), Made::read(&now("one")).unwrap());
        let form = |made: &Made| {
            let cost = made.by.params();
            ([cost.m_cost(), cost.t_cost(), cost.p_cost()], made.salt.len(), made.hash.len())
        };
        assert_eq!(form(&nothing), form(&made));
        assert!(!nothing.is_of(b"one").unwrap());
    }

    #[tokio::test]
    async fn a_hash_that_cannot_be_read_is_of_no_password() {
        let good = hash("one").await.unwrap();
        assert!(verify("one", Some(good.clone())).await.unwrap());
        let (unsalted, _) = good.split_at(good.rfind("p=1").unwrap() + 3);
        for bad in [
            "",
            "one",
            "$2b$12$abc",
            &good.replace("argon2id", "argon3"),
            &good.replace("v=19", "v=20"),
            unsalted,
        ] {
            assert!(Made::read(bad).is_none(), "{bad}");
            assert!(!verify("one", Some(bad.to_owned())).await.unwrap(), "{bad}");
        }
        assert!(!verify("one", None).await.unwrap());
    }
}
