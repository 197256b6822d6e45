//! Connections: where the database is, and whose turn it is to use one.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use diesel::{
    Connection, QueryResult,
    connection::{SimpleConnection, TransactionManager},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    task::JoinHandle,
};

use super::{
    Conn,
    at_once::AtOnce,
    conn::Manager,
    connections::{Age, Connections, Pooled, get},
    opening::{Opening, PATIENCE},
    postgres_url,
    silence::{Heard, Listener},
};
use crate::error::{Error, Result};

/// Where the database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A file of this machine.
    Sqlite(std::path::PathBuf),
    /// A server; the URL as it was given.
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
            Some(path) if path.starts_with("file:") || path.starts_with("sqlite://") => {
                Err("must be a path after sqlite://, without `file:` or a second `sqlite://`".to_owned())
            }
            Some(path) if path.contains('?') => {
                Err("takes no parameters after a `?`; write sqlite://PATH".to_owned())
            }
            Some(path) => Ok(Self::Sqlite(path.into())),
            None => Err("must begin with sqlite:// or postgres://".to_owned()),
        }
    }
}

/// A file by its whole path, which says where it is to whoever stands elsewhere; a server without the password.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => {
                let whole = std::path::absolute(path);
                write!(f, "sqlite://{}", whole.as_ref().unwrap_or(path).display())
            }
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
pub(super) const SQLITE_READERS: u32 = 4;
/// SQLite has one writer; one connection makes a fair queue of this process's.
const SQLITE_WRITERS: u32 = 1;
const POSTGRES_READERS: u32 = 8;
const POSTGRES_WRITERS: u32 = 16;

pub(super) struct Pool {
    /// Whether the database is a server, which may fall silent.
    is_remote: bool,
    connections: Connections,
    /// One for each connection. Whoever waits for theirs takes up no thread.
    turns: Arc<Semaphore>,
    /// One for each who may wait.
    places: Semaphore,
    /// One for each connection that may be given up and still be there: as many again, or the server would run out of them.
    losses: Arc<Semaphore>,
    here: AtOnce,
}

/// What a connection is lent for. It keeps its answer to itself, so that whatever is around it is compiled once for all of them.
type Errand = Box<dyn FnOnce(&mut Conn, &Heard) + Send>;

impl Pool {
    /// Has `work` done on one of the connections, however long that takes.
    ///
    /// # Errors
    /// `Unavailable` when there is none to be had; what `work` says.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Conn) -> Result<T> + Send + 'static,
    {
        let (errand, answer) = keeping_its_answer(|conn, _| work(conn));
        self.lend(errand, Heard::now()).await?;
        answer.await.map_err(Error::internal)?
    }

    /// Has `work` done on one of the connections. If the server falls silent meanwhile, all connections are given up, and what
    /// `work` is given says so.
    ///
    /// # Errors
    /// As [`Pool::run`]; `Unavailable` after silence, when nobody knows what was done.
    pub(super) async fn ask<T, F>(self: &Arc<Self>, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Conn, &Heard) -> Result<T> + Send + 'static,
    {
        let (errand, answer) = keeping_its_answer(work);
        if self.is_remote {
            self.lend_while_heard(errand).await?;
        } else {
            self.lend(errand, Heard::now()).await?;
        }
        answer.await.map_err(Error::internal)?
    }

    /// Does `work` here and now, if the database is a file of this machine, a connection is free and no lock has to be waited for.
    /// Nothing is answered otherwise. What is not in memory is waited for, and so is SQLite where it tries again by itself.
    pub(super) fn at_once<T>(&self, work: impl FnOnce(&mut Conn) -> QueryResult<T>) -> Option<T> {
        if self.is_remote {
            return None;
        }
        self.here.run(|| self.look(work))
    }

    fn look<T>(&self, work: impl FnOnce(&mut Conn) -> QueryResult<T>) -> Option<T> {
        let _turn = self.turns.try_acquire().ok()?;
        let mut conn = self.connections.now().1.try_get()?;
        let found = catch_unwind(AssertUnwindSafe(|| {
            conn.batch_execute("PRAGMA busy_timeout = 0")?;
            work(&mut conn)
        }));
        if found.is_err() || conn.batch_execute(PATIENCE).is_err() {
            // Closed instead of lent again.
            Manager::transaction_manager_status_mut(&mut *conn).set_in_error();
        }
        found.ok()?.ok()
    }

    async fn lend(&self, errand: Errand, heard: Heard) -> Result<()> {
        let (turn, (_, connections)) = (self.turn().await?, self.connections.now());
        let worked = tokio::task::spawn_blocking(move || {
            errand(&mut *get(&connections)?, &heard);
            drop(turn);
            Ok(())
        });
        worked.await.map_err(Error::internal)?
    }

    async fn lend_while_heard(self: &Arc<Self>, errand: Errand) -> Result<()> {
        let heard = Heard::now();
        let (turn, (age, connections)) = (self.turn().await?, self.connections.now());
        let hears = heard.clone();
        let mut worked = tokio::task::spawn_blocking(move || {
            let mut conn = get(&connections)?;
            conn.set_instrumentation(Listener::of(hears.clone()));
            errand(&mut conn, &hears);
            Ok(())
        });
        let pool = Arc::clone(self);
        // On a task of its own: whoever asked may hang up, and the turn must come back all the same.
        let watched = tokio::spawn(async move {
            loop {
                let deadline = heard.deadline();
                match tokio::time::timeout_at(deadline.into(), &mut worked).await {
                    Ok(worked) => return worked.map_err(Error::internal)?,
                    Err(_) if heard.deadline() > deadline => {}
                    Err(_) => break,
                }
            }
            tracing::warn!("the database server said nothing for too long; its connections are given up");
            heard.give_up();
            pool.connections.give_up(age);
            pool.wait_for(worked, turn);
            Err(Error::Unavailable("the database server said nothing for too long".into()))
        });
        watched.await.map_err(Error::internal)?
    }

    /// The thread has to be waited for. The turn is another's by now, unless too many wait like that already.
    fn wait_for(&self, work: JoinHandle<Result<()>>, turn: OwnedSemaphorePermit) {
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
        get(&self.connections.now().1)
    }
}

/// `work` as an errand, and where its answer is once that was done.
fn keeping_its_answer<T: Send + 'static>(
    work: impl FnOnce(&mut Conn, &Heard) -> Result<T> + Send + 'static,
) -> (Errand, oneshot::Receiver<Result<T>>) {
    let (answer, answered) = oneshot::channel();
    let errand = move |conn: &mut Conn, heard: &Heard| {
        // Perhaps nobody waits for it any more.
        let _ = answer.send(work(conn, heard));
    };
    (Box::new(errand), answered)
}

pub(super) fn readers(url: &DatabaseUrl, opening: Opening, age: &Age) -> Pool {
    let size = match url {
        DatabaseUrl::Sqlite(_) => SQLITE_READERS,
        DatabaseUrl::Postgres(_) => POSTGRES_READERS,
    };
    build(url, size, opening.for_reading(), age, Semaphore::MAX_PERMITS)
}

pub(super) fn writers(url: &DatabaseUrl, opening: Opening, age: &Age) -> Pool {
    let size = match url {
        DatabaseUrl::Sqlite(_) => SQLITE_WRITERS,
        DatabaseUrl::Postgres(_) => POSTGRES_WRITERS,
    };
    build(url, size, opening, age, WAITING)
}

fn build(url: &DatabaseUrl, size: u32, opening: Opening, age: &Age, waiting: usize) -> Pool {
    Pool {
        is_remote: url.file().is_none(),
        connections: Connections::to(url, size, opening, age),
        turns: Arc::new(Semaphore::new(size as usize)),
        places: Semaphore::new(waiting),
        losses: Arc::new(Semaphore::new(size as usize)),
        here: AtOnce::new(),
    }
}
