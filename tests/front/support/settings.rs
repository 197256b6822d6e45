//! What a run covers, from the environment that `scripts/test` sets. Without it: the quick loop.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Mutex;

/// The backends to run on: a comma-separated list in `COUNTERSIGN_TEST_BACKENDS`, SQLite alone by default.
pub fn backends() -> String {
    env::var("COUNTERSIGN_TEST_BACKENDS").unwrap_or_else(|_| "sqlite".into())
}

/// Whether the tests in a real browser run: `COUNTERSIGN_TEST_BROWSER=1`.
pub fn browser() -> bool {
    is_on("COUNTERSIGN_TEST_BROWSER")
}

/// How many rounds a heavy suite runs: all of them with `COUNTERSIGN_TEST_LONG=1`, otherwise a tenth.
pub fn rounds(full: usize) -> usize {
    if is_on("COUNTERSIGN_TEST_LONG") { full } else { full.div_ceil(10) }
}

/// Says that a part of the run was left out and how to have it; once for each part, past the test runner's
/// capture, because nobody sees what a passing test prints.
pub fn left_out(part: &str, how: &str) {
    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut said = SAID.lock().unwrap();
    if said.iter().any(|earlier| earlier == part) {
        return;
    }
    said.push(part.to_owned());
    let line = format!("left out: {part} ({how}, or scripts/test for everything)\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Records a figure worth reading after the run, such as the rounds of a race: a line that `scripts/test`
/// prints at its end, from the file in `COUNTERSIGN_TEST_FIGURES`.
pub fn figure(line: &str) {
    println!("{line}");
    let Ok(path) = env::var("COUNTERSIGN_TEST_FIGURES") else { return };
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn is_on(variable: &str) -> bool {
    env::var(variable).is_ok_and(|value| value == "1")
}
