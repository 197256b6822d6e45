//! The schema: brought up to date at the start, refused when it is newer than this binary.

use std::collections::BTreeSet;

use diesel::{
    QueryableByName, RunQueryDsl,
    connection::{SimpleConnection, TransactionManager},
    migration::{Migration, MigrationSource},
    pg::Pg,
    result::Error as QueryError,
    sql_query,
    sql_types::{BigInt, Text},
    sqlite::Sqlite,
};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use super::{
    Conn, QueryResult,
    conn::{Manager, Mode},
    neighbours::knock,
    opening::{IN_FILES, IN_MEMORY},
};
use crate::error::{Error, Result};

const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// The number under which processes that migrate one Postgres database queue up.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7146224815212)";

/// Applies what is pending, all of it or nothing. Where nothing is, nobody who writes is in the way.
pub(super) fn up(conn: &mut Conn) -> Result<()> {
    if schema(conn)? == Schema::Current {
        return Ok(());
    }
    match conn {
        Conn::Sqlite(_) => {
            // Each migration is a savepoint, and may change every row.
            conn.batch_execute(IN_FILES)?;
            let outcome = knock(conn).map_err(Error::from).and_then(|()| begun_up(conn));
            outcome.and(conn.batch_execute(IN_MEMORY).map_err(Error::from))
        }
        Conn::Postgres(_) => {
            conn.begin(Mode::Migrate)?;
            begun_up(conn)
        }
    }
}

/// Ends the transaction that was begun for it.
fn begun_up(conn: &mut Conn) -> Result<()> {
    match locked_up(conn) {
        Ok(()) => Ok(Manager::commit_transaction(conn)?),
        Err(error) => {
            // The first error says what happened, as in `Conn::transact`.
            let _ = Manager::rollback_transaction(conn);
            Err(error)
        }
    }
}

/// How the database's schema stands to this binary's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    Current,
    /// Migrations are pending, perhaps all of them.
    Behind,
}

/// Looks at the schema, and refuses one that is newer than this binary.
pub(super) fn schema(conn: &mut Conn) -> Result<Schema> {
    refuse_encoding(conn)?;
    let applied = conn.transact(Mode::Read, &applied)?;
    let known = known(conn)?;
    refuse_newer(&known, &applied)?;
    Ok(if known == applied { Schema::Current } else { Schema::Behind })
}

/// Refuses a schema that is older or newer than this binary.
pub(super) fn check(conn: &mut Conn) -> Result<()> {
    match schema(conn)? {
        Schema::Current => Ok(()),
        Schema::Behind => Err(not_migrated()),
    }
}

fn locked_up(conn: &mut Conn) -> Result<()> {
    match conn {
        Conn::Sqlite(conn) => run(conn, SQLITE)?,
        Conn::Postgres(conn) => {
            sql_query(LOCK).execute(conn)?;
            run(conn, POSTGRES)?;
        }
    }
    let applied = applied(conn)?;
    refuse_newer(&known(conn)?, &applied)
}

fn run<C, DB>(conn: &mut C, source: EmbeddedMigrations) -> Result<()>
where
    DB: diesel::backend::Backend,
    C: MigrationHarness<DB>,
    EmbeddedMigrations: MigrationSource<DB>,
{
    conn.run_pending_migrations(source).map(|_| ()).map_err(unboxed)
}

/// Refuses a database that can't hold every text.
fn refuse_encoding(conn: &mut Conn) -> Result<()> {
    #[derive(QueryableByName)]
    struct Encoding {
        #[diesel(sql_type = Text)]
        server_encoding: String,
    }
    let Conn::Postgres(conn) = conn else { return Ok(()) };
    let Encoding { server_encoding } = sql_query("SHOW server_encoding").get_result(conn)?;
    if server_encoding == "UTF8" {
        return Ok(());
    }
    Err(Error::Setup(format!(
        "The database's encoding is {server_encoding}, which can't hold every text. Make another with `CREATE DATABASE … \
         ENCODING 'UTF8' TEMPLATE template0`."
    )))
}

type Versions = BTreeSet<String>;

fn known(conn: &Conn) -> Result<Versions> {
    fn of<DB: diesel::backend::Backend>(source: &EmbeddedMigrations) -> Result<Versions>
    where
        EmbeddedMigrations: MigrationSource<DB>,
    {
        let known: Vec<Box<dyn Migration<DB>>> = source.migrations().map_err(unboxed)?;
        Ok(known.iter().map(|migration| migration.name().version().to_string()).collect())
    }
    match conn {
        Conn::Sqlite(_) => of::<Sqlite>(&SQLITE),
        Conn::Postgres(_) => of::<Pg>(&POSTGRES),
    }
}

#[derive(QueryableByName)]
struct Applied {
    #[diesel(sql_type = Text)]
    version: String,
}

/// Only looks: diesel's own function for this makes the table when it is missing. Before the first migration it is.
fn applied(conn: &mut Conn) -> QueryResult<Versions> {
    if !has_table(conn, "__diesel_schema_migrations")? {
        return Ok(Versions::new());
    }
    let rows: Vec<Applied> = sql_query("SELECT version FROM __diesel_schema_migrations").load(conn)?;
    Ok(rows.into_iter().map(|row| row.version).collect())
}

#[derive(QueryableByName)]
struct Tables {
    #[diesel(sql_type = BigInt)]
    found: i64,
}

/// Asks the catalogue, because an error would be in the server's language.
pub fn has_table(conn: &mut Conn, name: &str) -> QueryResult<bool> {
    let tables = match conn {
        Conn::Sqlite(_) => "SELECT COUNT(*) AS found FROM sqlite_schema WHERE name = $1",
        Conn::Postgres(_) => {
            "SELECT COUNT(*) AS found FROM (SELECT to_regclass($1) AS t) AS named WHERE t IS NOT NULL"
        }
    };
    Ok(sql_query(tables).bind::<Text, _>(name).get_result::<Tables>(conn)?.found > 0)
}

fn refuse_newer(known: &Versions, applied: &Versions) -> Result<()> {
    match applied.difference(known).next() {
        None => Ok(()),
        Some(newer) => Err(Error::Setup(format!(
            "The database has schema {newer}, which is newer than this binary. Run the newer Countersign, or restore a \
             backup from before the upgrade."
        ))),
    }
}

fn not_migrated() -> Error {
    Error::Setup("The database's schema is not up to date. Run `countersign migrate` first.".to_owned())
}

fn unboxed(error: Box<dyn std::error::Error + Send + Sync>) -> Error {
    match error.downcast::<QueryError>() {
        Ok(query) => Error::from(*query),
        Err(other) => Error::Internal(other),
    }
}
