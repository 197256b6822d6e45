//! The two databases that every test runs on.

use std::{fmt, thread};

use countersign::db::Db;

use super::run::Fixture;
use super::{postgres, runtime, settings};

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Postgres,
}

impl Backend {
    /// Whether this run covers the backend. If not, says so.
    pub fn is_selected(self) -> bool {
        let selected = settings::backends().split(',').any(|name| name.trim() == self.to_string());
        if !selected {
            let how = format!("COUNTERSIGN_TEST_BACKENDS=sqlite,{self}");
            settings::left_out(&format!("the tests on {self}"), &how);
        }
        selected
    }

    /// A database with every migration applied, for one test alone.
    pub fn fresh_database(self) -> Database {
        match self {
            Self::Sqlite => {
                let database = self.empty_database();
                migrate(&database.url);
                database
            }
            Self::Postgres => Database::on_postgres(postgres::create_database()),
        }
    }

    /// A database without a schema.
    pub fn empty_database(self) -> Database {
        match self {
            Self::Sqlite => {
                let folder = tempfile::Builder::new().prefix("countersign-test.").tempdir().unwrap();
                let url = format!("sqlite://{}/countersign.db", folder.path().display());
                Database {
                    url,
                    backend: self,
                    guard: Guard::Sqlite(folder),
                }
            }
            Self::Postgres => Database::on_postgres(postgres::create_empty_database()),
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        })
    }
}

/// A database that is removed when this is dropped.
pub struct Database {
    /// As `DATABASE_URL` takes it.
    pub url: String,
    pub backend: Backend,
    guard: Guard,
}

impl Database {
    /// The product's own handle on it, with pools of its own: what another process would have.
    pub fn open(&self) -> Db {
        open(&self.url)
    }

    /// The address of a Postgres database, straight to its server, with which the product's connections keep their statements.
    pub fn keeping_statements(&self) -> String {
        let joint = if self.url.contains('?') { '&' } else { '?' };
        format!("{}{joint}prepared_statements=yes", self.url)
    }

    /// Takes a Postgres database away from everybody, or gives it back. A SQLite file can't be taken from who has it open.
    pub fn let_in(&self, anybody: bool) {
        match &self.guard {
            Guard::Postgres(database) => database.let_in(anybody),
            Guard::Sqlite(_) | Guard::Elsewhere => panic!("this database doesn't go away so"),
        }
    }

    /// A Postgres database that somebody else keeps, with every migration applied.
    pub fn kept_elsewhere(url: &str) -> Self {
        migrate(url);
        Self {
            url: url.to_owned(),
            backend: Backend::Postgres,
            guard: Guard::Elsewhere,
        }
    }

    fn on_postgres(database: postgres::TestDatabase) -> Self {
        Self {
            url: database.url.clone(),
            backend: Backend::Postgres,
            guard: Guard::Postgres(database),
        }
    }
}

/// For a test that starts what it runs on by itself.
impl Fixture for Backend {
    async fn set_up(backend: Backend) -> Self {
        backend
    }
}

impl Fixture for Database {
    async fn set_up(backend: Backend) -> Self {
        backend.fresh_database()
    }
}

/// Applies every migration.
pub fn migrate(url: &str) {
    let db = open(url);
    // A thread of its own, so that a test may ask for a database from within its runtime.
    thread::scope(|scope| scope.spawn(|| runtime().block_on(db.migrate())).join().unwrap()).unwrap();
}

fn open(url: &str) -> Db {
    Db::open(&url.parse().unwrap()).unwrap()
}

/// What has to go with the database.
enum Guard {
    Sqlite(#[allow(dead_code, reason = "held for its Drop")] tempfile::TempDir),
    Postgres(postgres::TestDatabase),
    Elsewhere,
}
