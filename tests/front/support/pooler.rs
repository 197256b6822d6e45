//! PgBouncer in front of a Postgres server: it lends the server's few connections by the transaction.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::net::TcpStream;
use url::Url;

use super::Database;
use super::cluster::is_root;

/// How many connections there are for all.
pub const CONNECTIONS: usize = 3;

/// Few connections for all, until it is dropped.
pub struct Pooler {
    /// The database behind it, as `DATABASE_URL` takes it.
    pub url: String,
    process: Child,
    _folder: TempDir,
}

impl Pooler {
    pub async fn before(database: &Database) -> Self {
        let server: Url = database.url.parse().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::Builder::new().prefix("countersign-test.").tempdir().unwrap();
        let settings = folder.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = {}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = transaction\ndefault_pool_size = {CONNECTIONS}\n",
            place(&server)
        );
        fs::write(&settings, text).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new("pgbouncer");
        // As root it refuses to run.
        if is_root() {
            command.args(["-u", "postgres"]);
        }
        let process = command.arg("-q").arg(&settings).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let process = process.expect("pgbouncer; install Debian's package of that name");
        let patience = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            assert!(Instant::now() < patience, "pgbouncer does not answer");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let name = server.path();
        Self {
            url: format!("postgres://somebody@127.0.0.1:{port}{name}"),
            process,
            _folder: folder,
        }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where the server is, in the words of PgBouncer's settings.
fn place(server: &Url) -> String {
    let mut words: Vec<(String, String)> = vec![("user".into(), "postgres".into())];
    let mut say = |name: &str, value: &str| {
        words.retain(|(known, _)| known != name);
        words.push((name.to_owned(), value.to_owned()));
    };
    if let Some(host) = server.host_str().filter(|host| !host.is_empty()) {
        say("host", host);
    }
    if let Some(port) = server.port() {
        say("port", &port.to_string());
    }
    if !server.username().is_empty() {
        say("user", server.username());
    }
    if let Some(password) = server.password() {
        say("password", password);
    }
    for (name, value) in server
        .query_pairs()
        .filter(|(name, _)| ["host", "port", "user", "password"].contains(&&**name))
    {
        say(&name, &value);
    }
    words.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}
