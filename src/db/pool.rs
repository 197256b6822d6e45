//! Connections: where the database is, and what every connection is set to.

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use diesel::{
    Connection, ConnectionError, PgConnection, QueryableByName, RunQueryDsl, SqliteConnection,
    connection::{CacheSize, SimpleConnection, TransactionManager},
    r2d2, sql_query, sql_types,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Conn, postgres_url};
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
const SQLITE_READERS: u32 = 4;
/// SQLite has one writer; one connection makes a fair queue of this process's.
const SQLITE_WRITERS: u32 = 1;
const POSTGRES_READERS: u32 = 8;
const POSTGRES_WRITERS: u32 = 16;

pub(super) struct Pool {
    connections: r2d2::Pool<Manager>,
    /// One for each connection. Whoever waits for theirs takes up no thread.
    turns: Arc<Semaphore>,
    /// One for each who may wait.
    places: Semaphore,
}
pub(super) type Pooled = r2d2::PooledConnection<Manager>;

impl Pool {
    /// Waits for a turn on one of the connections.
    ///
    /// # Errors
    /// `Unavailable` at once when too many wait already, and after a while when it isn't one's turn.
    pub(super) async fn turn(&self) -> Result<OwnedSemaphorePermit> {
        let Ok(_place) = self.places.try_acquire() else {
            return Err(Error::Unavailable("too many wait for a connection".into()));
        };
        let turn = tokio::time::timeout(CHECKOUT, Arc::clone(&self.turns).acquire_owned()).await;
        match turn {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(Error::Unavailable("all connections were in use for too long".into())),
        }
    }

    pub(super) fn get(&self) -> Result<Pooled> {
        self.connections.get().map_err(|error| Error::Unavailable(Box::new(error)))
    }
}

/// What a connection may do to its database besides what it is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// Puts SQLite's settings in force that stay with the file.
    Use,
    /// Nothing at all, and writes are refused.
    Look,
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
    let connections = r2d2::Pool::builder()
        .max_size(size)
        .min_idle(Some(0))
        .connection_timeout(CHECKOUT)
        .error_handler(Box::new(Quiet))
        .build_unchecked(Manager(url.clone(), opening));
    Pool {
        connections,
        turns: Arc::new(Semaphore::new(size as usize)),
        places: Semaphore::new(waiting),
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
        let conn = match &self.0 {
            DatabaseUrl::Sqlite(path) => sqlite(&path.to_string_lossy(), self.1).map(Conn::Sqlite),
            DatabaseUrl::Postgres(url) => postgres(url).map(Conn::Postgres),
        };
        conn.map_err(r2d2::Error::ConnectionError)
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

/// Statements have no names: behind a pooler that lends connections by the transaction, a name that was given on one of them
/// means something else on the next.
fn postgres(url: &str) -> Result<PgConnection, ConnectionError> {
    let mut conn = PgConnection::establish(&postgres_url::with_limits(url)).map_err(without_password)?;
    conn.set_prepared_statement_cache_size(CacheSize::Disabled);
    Ok(conn)
}

/// What libpq says once it tried to connect. Before that it quotes what it can't read, which may be the password.
fn without_password(error: ConnectionError) -> ConnectionError {
    match error {
        ConnectionError::BadConnection(message)
            if ["connection to server", "could not translate host name"]
                .iter()
                .any(|tried| message.starts_with(tried)) =>
        {
            ConnectionError::BadConnection(message)
        }
        ConnectionError::BadConnection(_) | ConnectionError::InvalidConnectionUrl(_) => {
            ConnectionError::BadConnection("libpq can't use DATABASE_URL as it is written".to_owned())
        }
        other => other,
    }
}

fn sqlite(path: &str, opening: Opening) -> Result<SqliteConnection, ConnectionError> {
    let mut conn = SqliteConnection::establish(path)?;
    if opening == Opening::Look {
        conn.batch_execute(
            "PRAGMA busy_timeout = 5000; PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;",
        )
        .map_err(ConnectionError::CouldntSetupConfiguration)?;
        return Ok(conn);
    }
    // The time-out comes first: switching to WAL needs a lock that another process may hold.
    conn.batch_execute(
        "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
         PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA trusted_schema = OFF;",
    )
    .map_err(ConnectionError::CouldntSetupConfiguration)?;
    assert_settings(&mut conn)?;
    Ok(conn)
}

#[derive(QueryableByName, Debug, PartialEq, Eq)]
struct Settings {
    #[diesel(sql_type = sql_types::Text)]
    journal_mode: String,
    #[diesel(sql_type = sql_types::BigInt)]
    synchronous: i64,
    #[diesel(sql_type = sql_types::BigInt)]
    foreign_keys: i64,
    #[diesel(sql_type = sql_types::BigInt)]
    recursive_triggers: i64,
    #[diesel(sql_type = sql_types::BigInt)]
    timeout: i64,
}

/// A pragma that is not understood is ignored in silence, so each is read back.
fn assert_settings(conn: &mut SqliteConnection) -> Result<(), ConnectionError> {
    let found: Settings = sql_query(
        "SELECT journal_mode, synchronous, foreign_keys, recursive_triggers, timeout FROM pragma_journal_mode, \
         pragma_synchronous, pragma_foreign_keys, pragma_recursive_triggers, pragma_busy_timeout",
    )
    .get_result(conn)
    .map_err(ConnectionError::CouldntSetupConfiguration)?;
    let wanted = Settings {
        journal_mode: "wal".to_owned(),
        synchronous: 2,
        foreign_keys: 1,
        recursive_triggers: 1,
        timeout: 5000,
    };
    if found == wanted {
        return Ok(());
    }
    Err(ConnectionError::BadConnection(format!("SQLite did not take its settings: {found:?}")))
}
