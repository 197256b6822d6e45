//! The schema: brought up to date at the start, refused when it is newer than this binary.

use std::collections::BTreeSet;

use diesel::{
    RunQueryDsl,
    connection::TransactionManager,
    migration::{Migration, MigrationSource, MigrationVersion},
    result::Error as QueryError,
    sql_query,
};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use super::{
    Conn,
    conn::{Manager, Mode},
};
use crate::error::{Error, Result};

const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// The number under which processes that migrate one Postgres database queue up.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7146224815212)";

/// Applies what is pending, all of it or nothing.
pub(super) fn up(conn: &mut Conn) -> Result<()> {
    conn.begin(Mode::Write)?;
    let outcome = locked_up(conn);
    match outcome {
        Ok(()) => Ok(Manager::commit_transaction(conn)?),
        Err(error) => {
            Manager::rollback_transaction(conn)?;
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
    // Before the first migration there is no table to look at.
    let Ok((known, applied)) = versions(conn) else { return Ok(Schema::Behind) };
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
    let (known, applied) = versions(conn)?;
    refuse_newer(&known, &applied)
}

fn run<C, DB>(conn: &mut C, source: EmbeddedMigrations) -> Result<()>
where
    DB: diesel::backend::Backend,
    C: MigrationHarness<DB>,
    EmbeddedMigrations: MigrationSource<DB>,
{
    conn.run_pending_migrations(source).map(|_| ()).map_err(unboxed)
}

type Versions = BTreeSet<String>;

fn versions(conn: &mut Conn) -> Result<(Versions, Versions)> {
    fn of<C, DB>(conn: &mut C, source: &EmbeddedMigrations) -> Result<(Versions, Versions)>
    where
        DB: diesel::backend::Backend,
        C: MigrationHarness<DB>,
        EmbeddedMigrations: MigrationSource<DB>,
    {
        let known: Vec<Box<dyn Migration<DB>>> = source.migrations().map_err(unboxed)?;
        let applied: Vec<MigrationVersion<'static>> = conn.applied_migrations().map_err(unboxed)?;
        Ok((
            known.iter().map(|migration| migration.name().version().to_string()).collect(),
            applied.iter().map(ToString::to_string).collect(),
        ))
    }
    match conn {
        Conn::Sqlite(conn) => of(conn, &SQLITE),
        Conn::Postgres(conn) => of(conn, &POSTGRES),
    }
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
