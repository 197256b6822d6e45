//! Databases on a Postgres server: the one of `TEST_DATABASE_URL`, or one that this process starts.
//!
//! The migrations run once, in a template database that every test's own is copied from; a copy takes some
//! fifty milliseconds. The template stays on the server under a name made from the migrations, so that the
//! next process finds it; a change to a migration makes another.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection, QueryableByName, RunQueryDsl, sql_query};
use uuid::Uuid;

use super::backend::migrate;
use super::tether::Tether;

/// A database for one test, dropped with this.
pub struct TestDatabase {
    pub url: String,
    name: String,
}

impl TestDatabase {
    /// Cuts every connection and lets nobody in, or lets everybody in again.
    pub fn let_in(&self, anybody: bool) {
        let name = &self.name;
        let mut server = connect(server().url());
        server
            .batch_execute(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS {anybody}"))
            .unwrap();
        if !anybody {
            let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname =";
            server.batch_execute(&format!("{cut} '{name}'")).unwrap();
        }
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let dropped =
            connect(server().url()).batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
        // A second panic while a failed test unwinds would hide the first.
        if let Err(error) = dropped {
            eprintln!("database {} stays behind: {error}", self.name);
        }
    }
}

/// A copy of the template.
pub fn create_database() -> TestDatabase {
    create_from(server().template())
}

/// A database without a schema.
pub fn create_empty_database() -> TestDatabase {
    create_from("template0")
}

fn create_from(template: &str) -> TestDatabase {
    let name = format!("countersign_test_{}", Uuid::now_v7().simple());
    let create = format!("CREATE DATABASE {name} TEMPLATE {template}");
    connect(server().url()).batch_execute(&create).unwrap();
    TestDatabase {
        url: with_database(server().url(), &name),
        name,
    }
}

/// The server all databases of this process live on.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| match env::var("TEST_DATABASE_URL") {
        Ok(url) if !url.is_empty() => Server {
            url,
            template: OnceLock::new(),
            _tether: None,
        },
        _ => Server::start(),
    })
}

struct Server {
    url: String,
    template: OnceLock<String>,
    _tether: Option<Mutex<Tether>>,
}

impl Server {
    /// A throw-away server, which the script stops and removes once its command, `cat`, has met the end of its
    /// input: when this process is gone.
    fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/throwaway-postgres");
        let mut command = Command::new(script);
        command.args(["sh", "-c", r#"echo "$TEST_DATABASE_URL"; exec cat"#]);
        let mut tether = Tether::start(&mut command);
        let url = tether.await_line(|line| line.starts_with("postgres:").then(|| line.to_owned()));
        Self {
            url,
            template: OnceLock::new(),
            _tether: Some(tether.into()),
        }
    }

    fn url(&self) -> &str {
        &self.url
    }

    /// The name of the template, which the first process to ask for it makes.
    fn template(&self) -> &str {
        self.template.get_or_init(|| {
            let name = format!("countersign_template_{:016x}", migrations_fingerprint());
            let mut connection = connect(&self.url);
            // Held until the connection closes; the other processes wait here.
            connection.batch_execute("SELECT pg_advisory_lock(4210931)").unwrap();
            if !exists(&mut connection, &name) {
                let draft = format!("{name}_draft");
                // One statement at a time: creating and dropping databases can't be part of a transaction.
                let mut run = |statement: String| connection.batch_execute(&statement).unwrap();
                run(format!("DROP DATABASE IF EXISTS {draft} WITH (FORCE)"));
                run(format!("CREATE DATABASE {draft}"));
                migrate(&with_database(&self.url, &draft));
                run(format!("ALTER DATABASE {draft} RENAME TO {name}"));
            }
            name
        })
    }
}

fn connect(url: &str) -> PgConnection {
    PgConnection::establish(url).unwrap_or_else(|error| panic!("no connection to {url}: {error}"))
}

fn exists(connection: &mut PgConnection, database: &str) -> bool {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = diesel::sql_types::Bool)]
        found: bool,
    }
    let query = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1) AS found";
    let row = sql_query(query)
        .bind::<diesel::sql_types::Text, _>(database)
        .get_result::<Row>(connection);
    row.unwrap().found
}

/// Changes with every migration's name and text.
fn migrations_fingerprint() -> u64 {
    let mut hasher = DefaultHasher::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    for file in sorted_files(&folder) {
        file.strip_prefix(&folder).unwrap().hash(&mut hasher);
        fs::read(&file).unwrap().hash(&mut hasher);
    }
    hasher.finish()
}

fn sorted_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

/// The same server, another database.
fn with_database(url: &str, database: &str) -> String {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let authority = address.find("://").expect("TEST_DATABASE_URL is a URL") + 3;
    let path = address[authority..].find('/').map_or(address.len(), |at| authority + at);
    let separator = if query.is_empty() { "" } else { "?" };
    format!("{}/{database}{separator}{query}", &address[..path])
}

#[test]
fn a_database_takes_the_place_of_the_one_in_the_url() {
    assert_eq!(with_database("postgres://u:p@h:5/postgres?a=b", "x"), "postgres://u:p@h:5/x?a=b");
    assert_eq!(with_database("postgres:///postgres?host=/tmp/s", "x"), "postgres:///x?host=/tmp/s");
    assert_eq!(with_database("postgres://h", "x"), "postgres://h/x");
}
