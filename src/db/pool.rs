//! Connections: where the database is, and whose turn it is to use one.

use std::{
    fmt,
    str::FromStr,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use diesel::{
    Connection,
    connection::{SimpleConnection, TransactionManager},
    r2d2,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinError, JoinHandle},
};

use super::{
    Conn,
    opening::Opening,
    postgres_url,
    silence::{Heard, Listener},
};
use crate::error::{Error, Result};

/// Where the database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A file of this machine.
    Sqlite(std::path::PathBuf),
    /// A server; the URL as libpq takes it.
    Postgres(String),
}

impl FromStr for DatabaseUrl {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return postgres_url::check(url).map(|()| Self::Postgres(url.to_owned()));
        }
        match url.strip_prefix("sqlite://") {
            Some("") => Err("must name a file: sqlite://PATH".to_owned()),
            Some(path) if path.contains(":memory:") => {
                Err("can't be in memory, where nothing outlives a restart; write sqlite://PATH".to_owned())
            }
            // SQLite takes that for a URI, which names another file than the one that is looked at here.
            Some(path) if path.starts_with("file:") => {
                Err("must be a path after sqlite://, without `file:`".to_owned())
            }
            Some(path) if path.contains('?') => {
                Err("takes no parameters after a `?`; write sqlite://PATH".to_owned())
            }
            Some(path) => Ok(Self::Sqlite(path.into())),
            None => Err("must begin with sqlite:// or postgres://".to_owned()),
        }
    }
}

/// Without the password.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite://{}", path.display()),
            Self::Postgres(text) => match url::Url::parse(text) {
                Ok(url) => {
                    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
                    write!(f, "postgres://{}{port}{}", url.host_str().unwrap_or_default(), url.path())
                }
                Err(_) => f.write_str("postgres://…"),
            },
        }
    }
}

impl DatabaseUrl {
    /// The database's file, where it is one.
    pub fn file(&self) -> Option<&std::path::Path> {
        match self {
            Self::Sqlite(path) => Some(path),
            Self::Postgres(_) => None,
        }
    }
}

/// How long a caller waits for a connection before it is told that the database is unavailable.
pub(super) const CHECKOUT: Duration = Duration::from_secs(5);
/// How many may wait to write. Each holds what it was asked for; more of them are turned away. Reads are over soon, and people's
/// wait behind those of agents: they are turned away by the clock alone.
pub(super) const WAITING: usize = 1_024;
/// How many threads may wait for servers that fell silent.
const LOSSES: usize = 128;
const SQLITE_READERS: u32 = 4;
/// SQLite has one writer; one connection makes a fair queue of this process's.
const SQLITE_WRITERS: u32 = 1;
const POSTGRES_READERS: u32 = 8;
const POSTGRES_WRITERS: u32 = 16;

pub(super) struct Pool {
    /// Whether the database is a server, which may fall silent.
    is_remote: bool,
    connections: RwLock<Arc<Connections>>,
    /// Makes them anew.
    make: Box<dyn Fn() -> Connections + Send + Sync>,
    /// One for each connection. Whoever waits for theirs takes up no thread.
    turns: Arc<Semaphore>,
    /// One for each who may wait.
    places: Semaphore,
    /// One for each connection that may be given up and still be there.
    losses: Arc<Semaphore>,
}
type Connections = r2d2::Pool<Manager>;
pub(super) type Pooled = r2d2::PooledConnection<Manager>;

impl Pool {
    /// Has `work` done on one of the connections, however long that takes.
    ///
    /// # Errors
    /// `Unavailable` when there is none to be had; what `work` says.
    pub(super) async fn run<T, F>(self: &Arc<Self>, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Conn) -> Result<T> + Send + 'static,
    {
        let (turn, connections) = (self.turn().await?, self.connections());
        let worked = tokio::task::spawn_blocking(move || {
            let outcome = work(&mut *get(&connections)?);
            drop(turn);
            outcome
        });
        worked.await.map_err(internal)?
    }

    /// Has `work` done on one of the connections, and gives that connection up if the server falls silent meanwhile.
    ///
    /// # Errors
    /// As [`Pool::run`]; `Unavailable` after silence, when nobody knows what was done.
    pub(super) async fn ask<T, F>(self: &Arc<Self>, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Conn) -> Result<T> + Send + 'static,
    {
        if !self.is_remote {
            return self.run(work).await;
        }
        let turn = self.turn().await?;
        let (connections, heard) = (self.connections(), Heard::now());
        let (on, hears) = (Arc::clone(&connections), heard.clone());
        let mut worked = tokio::task::spawn_blocking(move || {
            let mut conn = get(&on)?;
            conn.set_instrumentation(Listener::of(hears));
            work(&mut conn)
        });
        let pool = Arc::clone(self);
        // On a task of its own: whoever asked may hang up, and the turn must come back all the same.
        let watched = tokio::spawn(async move {
            loop {
                let deadline = heard.deadline();
                match tokio::time::timeout_at(deadline.into(), &mut worked).await {
                    Ok(worked) => return worked.map_err(internal)?,
                    Err(_) if heard.deadline() > deadline => {}
                    Err(_) => break,
                }
            }
            pool.give_up(&connections, worked, turn);
            Err(Error::Unavailable("the database server said nothing for too long".into()))
        });
        watched.await.map_err(internal)?
    }

    /// Goes on with new connections, since all that there were lead to the same silence.
    fn give_up<T: Send + 'static>(
        &self,
        connections: &Arc<Connections>,
        work: JoinHandle<T>,
        turn: OwnedSemaphorePermit,
    ) {
        tracing::warn!("the database server said nothing for too long; its connections are given up");
        let mut current = self.connections.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, connections) {
            *current = Arc::new((self.make)());
        }
        // The thread has to be waited for. The turn is another's by now, unless too many wait like that already.
        let held = Arc::clone(&self.losses).try_acquire_owned().unwrap_or(turn);
        tokio::spawn(async move {
            let _ = work.await;
            drop(held);
        });
    }

    /// Waits for a turn on one of the connections.
    ///
    /// # Errors
    /// `Unavailable` at once when too many wait already, and after a while when it isn't one's turn.
    async fn turn(&self) -> Result<OwnedSemaphorePermit> {
        let Ok(_place) = self.places.try_acquire() else {
            return Err(Error::Unavailable("too many wait for a connection".into()));
        };
        let turn = tokio::time::timeout(CHECKOUT, Arc::clone(&self.turns).acquire_owned()).await;
        match turn {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(Error::Unavailable("all connections were in use for too long".into())),
        }
    }

    /// A connection, without waiting for a turn.
    pub(super) fn get(&self) -> Result<Pooled> {
        get(&self.connections())
    }

    fn connections(&self) -> Arc<Connections> {
        Arc::clone(&self.connections.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn get(connections: &Connections) -> Result<Pooled> {
    connections.get().map_err(|error| Error::Unavailable(Box::new(error)))
}

fn internal(panic: JoinError) -> Error {
    Error::Internal(Box::new(panic))
}

pub(super) fn readers(url: &DatabaseUrl, opening: Opening) -> Pool {
    let size = match url {
        DatabaseUrl::Sqlite(_) => SQLITE_READERS,
        DatabaseUrl::Postgres(_) => POSTGRES_READERS,
    };
    build(url, size, opening, Semaphore::MAX_PERMITS)
}

pub(super) fn writers(url: &DatabaseUrl, opening: Opening) -> Pool {
    let size = match url {
        DatabaseUrl::Sqlite(_) => SQLITE_WRITERS,
        DatabaseUrl::Postgres(_) => POSTGRES_WRITERS,
    };
    build(url, size, opening, WAITING)
}

fn build(url: &DatabaseUrl, size: u32, opening: Opening, waiting: usize) -> Pool {
    let (url, is_remote) = (url.clone(), url.file().is_none());
    let make = move || {
        r2d2::Pool::builder()
            .max_size(size)
            .min_idle(Some(0))
            .connection_timeout(CHECKOUT)
            .error_handler(Box::new(Quiet))
            .build_unchecked(Manager(url.clone(), opening))
    };
    Pool {
        is_remote,
        connections: RwLock::new(Arc::new(make())),
        make: Box::new(make),
        turns: Arc::new(Semaphore::new(size as usize)),
        places: Semaphore::new(waiting),
        losses: Arc::new(Semaphore::new(LOSSES)),
    }
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
