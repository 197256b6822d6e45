//! Postgres servers of a test's own, which listen on a port: to be made to ask for TLS, to be killed, to follow one another.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection};
use tokio::net::TcpSocket;

use super::tether::Tether;

/// A running server, killed and removed when this is dropped.
pub struct Cluster {
    pub port: u16,
    data: PathBuf,
    _tether: Tether,
}

impl Cluster {
    /// An empty one. `prepare` may put files into its folder, and answers more settings.
    pub fn new(prepare: impl FnOnce(&Path) -> String) -> Self {
        let data = folder();
        let initdb = [
            "-D",
            text(&data),
            "-U",
            "postgres",
            "--auth",
            "trust",
            "--encoding",
            "UTF8",
            "--no-locale",
        ];
        run("initdb", &initdb);
        let settings = prepare(&data);
        own(&data);
        Self::start(data, &settings)
    }

    /// One that follows another, and has nothing of its own until it is promoted.
    pub fn following(primary: &Self) -> Self {
        let (data, port) = (folder(), primary.port.to_string());
        run(
            "pg_basebackup",
            &["-D", text(&data), "-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-R", "-c", "fast"],
        );
        Self::start(data, "")
    }

    fn start(data: PathBuf, settings: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let fixed = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = ''\nshared_buffers = 32MB\n\
             fsync = off\nmax_connections = 100\n{settings}\n"
        );
        let file = data.join("postgresql.conf");
        fs::write(&file, fs::read_to_string(&file).unwrap() + &fixed).unwrap();
        let words = words("postgres", &["-D", text(&data)]);
        let arguments: Vec<_> = words[1..].iter().map(String::as_str).collect();
        let cluster = Self {
            port,
            _tether: Tether::start_and_kill(&words[0], &arguments, data.parent().unwrap()),
            data,
        };
        cluster.until_it_answers();
        cluster
    }

    /// Its only address, such as `127.0.0.1:40123`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Runs statements as its owner.
    pub fn run(&self, sql: &str) {
        self.connect().unwrap().batch_execute(sql).unwrap();
    }

    /// Ends it at once, as a machine ends that loses its power. What is answered keeps its port from being given to any other
    /// server, and turns everybody away there.
    #[must_use]
    pub fn kill(&self) -> TcpSocket {
        let pid = fs::read_to_string(self.data.join("postmaster.pid")).unwrap();
        let kill = format!("kill -QUIT {}", pid.lines().next().unwrap());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let port = TcpSocket::new_v4().unwrap();
        port.set_reuseaddr(true).unwrap();
        let patience = Instant::now() + Duration::from_secs(10);
        while let Err(error) = port.bind(([127, 0, 0, 1], self.port).into()) {
            assert!(Instant::now() < patience, "its port is not free: {error}");
            std::thread::sleep(Duration::from_millis(1));
        }
        port
    }

    /// From now on it follows nobody.
    pub fn promote(&self) {
        run("pg_ctl", &["promote", "-D", text(&self.data), "-w", "-s"]);
    }

    fn until_it_answers(&self) {
        let patience = Instant::now() + Duration::from_secs(30);
        // One that lets nobody in without TLS answers too.
        while let Err(error) = self.connect().map(|_| ()) {
            if error.to_string().contains("pg_hba.conf") {
                return;
            }
            assert!(Instant::now() < patience, "it does not answer: {error}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn connect(&self) -> Result<PgConnection, diesel::ConnectionError> {
        PgConnection::establish(&format!("postgres://postgres@{}/postgres", self.address()))
    }
}

/// A folder in a folder that everybody may enter.
fn folder() -> PathBuf {
    let outer = tempfile::Builder::new().prefix("countersign-test.").tempdir().unwrap().keep();
    own(&outer);
    outer.join("data")
}

/// Gives a folder, and all that is in it, to whom the server runs as.
fn own(folder: &Path) {
    if is_root() {
        let status = Command::new("chown").args(["-R", "postgres"]).arg(folder).status().unwrap();
        assert!(status.success());
    }
}

/// Runs one of Postgres's programs to its end, as somebody it agrees to run as.
fn run(program: &str, arguments: &[&str]) {
    let words = words(program, arguments);
    let output = Command::new(&words[0]).args(&words[1..]).current_dir("/").output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

fn words(program: &str, arguments: &[&str]) -> Vec<String> {
    let as_server = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups"];
    let as_whom: &[&str] = if is_root() { &as_server } else { &[] };
    let program = programs().join(program);
    let words = as_whom.iter().copied().chain([text(&program)]).chain(arguments.iter().copied());
    words.map(str::to_owned).collect()
}

/// Where Debian keeps them, the newest version's; otherwise they are found by name.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.filter_map(|one| one.file_name().into_string().ok()?.parse::<u32>().ok()).max();
    newest.map_or_else(PathBuf::new, |version| format!("/usr/lib/postgresql/{version}/bin").into())
}

/// Whether this process may do everything, and the servers' programs refuse to run as who it is.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
