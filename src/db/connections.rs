//! The connections of a pool, which can be made anew.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicU64, Ordering},
};

use diesel::{
    Connection,
    connection::{SimpleConnection, TransactionManager},
    r2d2,
};

use super::{Conn, DatabaseUrl, opening::Opening, pool::CHECKOUT};
use crate::error::{Error, Result};

/// How often all connections to a database were given up so far, by whichever pool. Those of before are used no more.
pub(super) type Age = Arc<AtomicU64>;

pub(super) type Set = r2d2::Pool<Manager>;
pub(super) type Pooled = r2d2::PooledConnection<Manager>;

/// A pool's connections of today.
pub(super) struct Connections {
    url: DatabaseUrl,
    size: u32,
    opening: Opening,
    age: Age,
    current: RwLock<(u64, Set)>,
}

impl Connections {
    pub(super) fn to(url: &DatabaseUrl, size: u32, opening: Opening, age: &Age) -> Self {
        let first = (age.load(Ordering::SeqCst), set(url, size, opening));
        Self {
            url: url.clone(),
            size,
            opening,
            age: Arc::clone(age),
            current: RwLock::new(first),
        }
    }

    /// Those of today, and their age.
    pub(super) fn now(&self) -> (u64, Set) {
        let age = self.age.load(Ordering::SeqCst);
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        if current.0 == age {
            return current;
        }
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.0 < age {
            *current = (age, set(&self.url, self.size, self.opening));
        }
        current.clone()
    }

    /// Gives up those of that age, unless somebody has.
    pub(super) fn give_up(&self, age: u64) {
        let _ = self.age.compare_exchange(age, age + 1, Ordering::SeqCst, Ordering::SeqCst);
    }
}

/// One of them.
pub(super) fn get(set: &Set) -> Result<Pooled> {
    set.get().map_err(|error| Error::Unavailable(Box::new(error)))
}

fn set(url: &DatabaseUrl, size: u32, opening: Opening) -> Set {
    r2d2::Pool::builder()
        .max_size(size)
        .min_idle(Some(0))
        .connection_timeout(CHECKOUT)
        .error_handler(Box::new(Quiet))
        .build_unchecked(Manager(url.clone(), opening))
}

/// A connection that can't be made is reported to whoever asked for it; the pool's own retries would only repeat it.
#[derive(Debug)]
struct Quiet;

impl r2d2::HandleError<r2d2::Error> for Quiet {
    fn handle_error(&self, error: r2d2::Error) {
        tracing::debug!(%error, "a database connection could not be made");
    }
}

pub(super) struct Manager(DatabaseUrl, Opening);

impl r2d2::ManageConnection for Manager {
    type Connection = Conn;
    type Error = r2d2::Error;

    fn connect(&self) -> Result<Conn, r2d2::Error> {
        self.1.connect(&self.0).map_err(r2d2::Error::ConnectionError)
    }

    fn is_valid(&self, conn: &mut Conn) -> Result<(), r2d2::Error> {
        match conn {
            Conn::Sqlite(_) => Ok(()),
            Conn::Postgres(conn) => conn.batch_execute("SELECT 1").map_err(r2d2::Error::QueryError),
        }
    }

    fn has_broken(&self, conn: &mut Conn) -> bool {
        std::thread::panicking()
            || <Conn as Connection>::TransactionManager::is_broken_transaction_manager(conn)
    }
}
