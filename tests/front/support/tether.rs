//! Programs that end when the tests end, however they end: by returning, by a panic, or killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use std::os::unix::process::CommandExt;

/// A running program, held by its standard input: the kernel closes that pipe when this process is gone.
pub struct Tether {
    _program: Child,
    _stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Tether {
    /// Starts a program that ends by itself when its standard input closes.
    pub fn start(program: &mut Command) -> Self {
        // A group of its own: a signal to the tests' group must not end it before it has tidied up.
        let mut child = program
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{program:?} does not start: {error}"));
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self {
            _program: child,
            _stdin: stdin,
            stdout,
        }
    }

    /// Starts any other program under a shell that waits for the pipe to close, then kills the program with
    /// all its children and removes its folder.
    pub fn start_and_kill(program: &str, arguments: &[&str], folder: &Path) -> Self {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", r#"folder=$1; shift; setsid "$@" & read -r _; kill -KILL "-$!"; rm -rf "$folder""#]);
        shell.arg("tether").arg(folder).arg(program).args(arguments);
        Self::start(&mut shell)
    }

    /// Reads what the program prints up to the first line that `find` accepts, and returns what it made of it.
    pub fn await_line<T>(&mut self, find: impl Fn(&str) -> Option<T>) -> T {
        let mut printed = String::new();
        loop {
            let begin = printed.len();
            let count = self.stdout.read_line(&mut printed).unwrap();
            assert!(count > 0, "the program ended after printing:\n{printed}");
            if let Some(found) = find(printed[begin..].trim_end()) {
                return found;
            }
        }
    }
}
