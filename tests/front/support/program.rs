//! The built program, run as a person at a shell would run it, without what the shell of the tests happens to hold.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use serde_json::Value;
use tempfile::TempDir;

use super::Database;
use super::app::SECRET;

/// The program on one database, in a folder of its own.
pub struct Program {
    pub folder: TempDir,
    settings: Vec<(String, String)>,
    /// Another program, and its arguments, that starts this one in its own process.
    through: Vec<String>,
}

/// What it said and how it ended.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Program {
    /// On this database, with the tests' secret.
    pub fn on(database: &Database) -> Self {
        Self::bare().with("DATABASE_URL", &database.url).with("COUNTERSIGN_SECRET", SECRET)
    }

    /// With nothing set.
    pub fn bare() -> Self {
        let folder = tempfile::Builder::new().prefix("countersign-test.").tempdir().unwrap();
        Self {
            folder,
            settings: Vec::new(),
            through: Vec::new(),
        }
    }

    /// With one more setting.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// From now on started by another program, which puts it in its own place.
    pub fn go_through(&mut self, words: &[&str]) {
        self.through = words.iter().map(ToString::to_string).collect();
    }

    /// A command line, ready to be started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_countersign").to_owned();
        let mut words = self.through.iter().chain([&program]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_clear().envs(self.settings.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it to its end.
    pub fn run(&self, arguments: &[&str]) -> Said {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Said {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Starts what serves, and waits until it says where.
    pub fn serve(&self, arguments: &[&str]) -> Served {
        self.try_to_serve(arguments)
            .unwrap_or_else(|printed| panic!("it ended after printing:\n{printed}"))
    }

    /// The same with what may end instead; then what it printed.
    pub fn try_to_serve(&self, arguments: &[&str]) -> Result<Served, String> {
        let mut command = self.command(arguments);
        command.env("COUNTERSIGN_LOG", "info,json").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut printed = String::new();
        let url = loop {
            let begin = printed.len();
            if log.read_line(&mut printed).unwrap() == 0 {
                child.wait().unwrap();
                return Err(printed);
            }
            let line = serde_json::from_str::<Value>(&printed[begin..]).unwrap_or_default();
            if let Some(listen) = line["fields"]["listen"].as_str() {
                break format!("http://{listen}");
            }
        };
        // A program that can't write its log would stop.
        std::thread::spawn(move || io::copy(&mut log, &mut io::sink()));
        Ok(Served { url, child })
    }
}

impl Said {
    /// What it printed, when all went well.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// The same as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// The one sentence of a failure.
    #[track_caller]
    pub fn sentence(self) -> String {
        assert_eq!((self.code, self.err.lines().count()), (Some(1), 1), "{self:?}");
        self.err.trim_end().to_owned()
    }
}

/// Whether a process holds SQLite's lock on a database's file, without which others may take it for one that nobody uses.
pub fn is_held(file: &Path) -> bool {
    let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => false,
        Err(Errno::AGAIN | Errno::ACCESS) => true,
        Err(error) => panic!("{error}"),
    }
}

/// A server in a process of its own, killed when dropped.
pub struct Served {
    pub url: String,
    child: Child,
}

impl Served {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, such as `TERM`, and answers the exit code and how long it took to end.
    pub fn stop(mut self, signal: &str) -> (Option<i32>, Duration) {
        let begun = Instant::now();
        let kill = format!("kill -{signal} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        (self.child.wait().unwrap().code(), begun.elapsed())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
