//! A connection: how it is made, and what it is set to.

use diesel::{
    Connection, ConnectionError, PgConnection, QueryableByName, RunQueryDsl, SqliteConnection,
    connection::SimpleConnection, sql_query, sql_types,
};

use super::{Conn, DatabaseUrl, kept, postgres_url};

/// How much of the file a reader may keep in memory, in KiB as a negative number: with the next commit it is out of date.
const READERS_CACHE: i64 = -768;
/// The same for a writer: what SQLite does by itself.
const WRITERS_CACHE: i64 = -2000;

/// How long SQLite itself waits for a lock.
pub(super) const PATIENCE: &str = "PRAGMA busy_timeout = 5000";

/// For a writer: what a savepoint would put back, some 140 KiB for a request, stays in memory. Otherwise what is more than 64 KiB
/// goes to a file.
pub(super) const IN_MEMORY: &str = "PRAGMA temp_store = MEMORY";
/// What SQLite does by itself, for what may be as large as the database.
pub(super) const IN_FILES: &str = "PRAGMA temp_store = FILE";

/// What a connection may do to its database besides what it is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// Puts SQLite's settings in force that stay with the file.
    Use,
    /// As `Use`, and keeps fewer of SQLite's pages.
    Read,
    /// Nothing at all, and writes are refused.
    Look,
}

impl Opening {
    /// For connections that only read.
    pub(super) fn for_reading(self) -> Self {
        match self {
            Self::Use => Self::Read,
            opening => opening,
        }
    }

    /// A connection to the database.
    pub(super) fn connect(self, url: &DatabaseUrl) -> Result<Conn, ConnectionError> {
        match url {
            DatabaseUrl::Sqlite(path) => sqlite(&path.to_string_lossy(), self).map(Conn::Sqlite),
            DatabaseUrl::Postgres(url) => postgres(url).map(Conn::Postgres),
        }
    }
}

/// Statements have no names unless the URL says that they may: behind a pooler that lends connections by the transaction, a
/// name that was given on one of them means something else on the next.
fn postgres(url: &str) -> Result<PgConnection, ConnectionError> {
    let (url, may_keep) = postgres_url::for_libpq(url);
    let mut conn = PgConnection::establish(&url).map_err(without_password)?;
    if may_keep {
        kept::forget_if_shared(&mut conn)?;
    } else {
        kept::forget(&mut conn);
    }
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
    let mut set = |settings: &str| {
        // The time-out comes first: switching to WAL needs a lock that another process may hold.
        let settings = format!("{PATIENCE}; PRAGMA trusted_schema = OFF; {settings}");
        conn.batch_execute(&settings).map_err(ConnectionError::CouldntSetupConfiguration)
    };
    if opening == Opening::Look {
        set("PRAGMA query_only = ON")?;
        return Ok(conn);
    }
    let (cache_size, temp_store) = match opening {
        Opening::Read => (READERS_CACHE, IN_FILES),
        _ => (WRITERS_CACHE, IN_MEMORY),
    };
    set(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
         PRAGMA recursive_triggers = ON; PRAGMA cache_size = {cache_size}; {temp_store}"
    ))?;
    assert_settings(&mut conn, cache_size, temp_store)?;
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
    #[diesel(sql_type = sql_types::BigInt)]
    cache_size: i64,
    #[diesel(sql_type = sql_types::BigInt)]
    temp_store: i64,
}

/// A pragma that is not understood is ignored in silence, so each is read back.
fn assert_settings(
    conn: &mut SqliteConnection,
    cache_size: i64,
    temp_store: &str,
) -> Result<(), ConnectionError> {
    let found: Settings = sql_query(
        "SELECT journal_mode, synchronous, foreign_keys, recursive_triggers, timeout, cache_size, temp_store \
         FROM pragma_journal_mode, pragma_synchronous, pragma_foreign_keys, pragma_recursive_triggers, \
         pragma_busy_timeout, pragma_cache_size, pragma_temp_store",
    )
    .get_result(conn)
    .map_err(ConnectionError::CouldntSetupConfiguration)?;
    let wanted = Settings {
        journal_mode: "wal".to_owned(),
        synchronous: 2,
        foreign_keys: 1,
        recursive_triggers: 1,
        timeout: 5000,
        cache_size,
        temp_store: if temp_store == IN_MEMORY { 2 } else { 1 },
    };
    if found == wanted {
        return Ok(());
    }
    Err(ConnectionError::BadConnection(format!("SQLite did not take its settings: {found:?}")))
}
