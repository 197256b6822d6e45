//! The files that no compiler reads, `Dockerfile` and its companions: what they name is there.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_image_is_built_from_what_exists() {
    let ignored = read(".dockerignore");
    for source in copied_into_the_image() {
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(&source).exists(), "no {source}");
        assert!(ignored.lines().any(|line| line == format!("!{source}")), "{source} is kept from Docker");
    }
}

#[test]
fn the_image_carries_all_that_the_crate_is_made_of() {
    let sources: Vec<String> = copied_into_the_image().collect();
    for needed in ["Cargo.toml", "Cargo.lock", ".cargo", "src", "templates", "static", "migrations", "seed"] {
        assert!(sources.iter().any(|source| source == needed), "{needed} is not copied");
    }
}

#[test]
fn the_image_is_built_with_the_toolchain_of_the_repository() {
    let toolchain = read("rust-toolchain.toml");
    let channel = toolchain.split('"').nth(1).unwrap();
    assert!(read("Dockerfile").contains(&format!("FROM rust:{channel}-slim")));
}

#[test]
fn sqlite_is_compiled_as_the_repository_says() {
    let conn = rusqlite::Connection::open_in_memory().unwrap();
    let mut asked = conn.prepare("PRAGMA compile_options").unwrap();
    let options: Vec<String> = asked.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for option in ["THREADSAFE=2", "DEFAULT_MEMSTATUS=0", "ENABLE_QPSG"] {
        assert!(options.iter().any(|found| found == option), "no {option} among {options:?}");
    }
    assert!(!options.iter().any(|found| found == "ENABLE_MEMORY_MANAGEMENT"));
}

#[test]
fn the_program_is_built_without_failpoints() {
    let features = |edges: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["tree", "--offline", "--depth", "0", "--format", "[{f}]", "--edges", edges]);
        let tree = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        String::from_utf8(tree.stdout).unwrap()
    };
    assert_eq!(features("no-dev").trim(), "[]");
    assert!(features("all").starts_with("[failpoints]"), "the tests have them");
}

/// The sources of each `COPY` from the repository, not from another stage.
fn copied_into_the_image() -> impl Iterator<Item = String> {
    let dockerfile = read("Dockerfile");
    let copies = dockerfile.lines().filter_map(|line| line.strip_prefix("COPY "));
    let copies = copies.filter(|arguments| !arguments.starts_with("--from"));
    let sources = copies.flat_map(|arguments| {
        let mut words: Vec<_> = arguments.split_whitespace().map(String::from).collect();
        words.pop();
        words
    });
    sources.collect::<Vec<_>>().into_iter()
}

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}
