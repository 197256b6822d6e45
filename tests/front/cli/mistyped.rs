//! A path that is not the database's: nothing is made there, and the sentence names the setting and the path.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::support::program::Program;

const CHECK: [&str; 3] = ["check", "--listen", "127.0.0.1:0"];
/// Every command that works on a database that is there.
const COMMANDS: &[&[&str]] = &[
    &["seed"],
    &["person", "add", "--email", "ana@example.com", "--role", "owner"],
    &["person", "list"],
    &["person", "role", "--email", "ana@example.com", "--role", "owner"],
    &["person", "disable", "--email", "ana@example.com"],
    &["person", "reset-password", "--email", "ana@example.com"],
    &["agent", "add", "--name", "a", "--scope", "orders:read"],
    &["agent", "list"],
    &["agent", "scopes", "--name", "a", "--scope", "orders:read"],
    &["agent", "rotate", "--name", "a"],
    &["agent", "revoke", "--name", "a"],
    &["prune", "--older-than", "1d"],
    &["backup", "copy.db"],
    &["pause"],
    &["resume"],
    &["audit", "export"],
    &["mcp", "--agent-key", "cs_a_x"],
    &["serve", "--listen", "127.0.0.1:0", "--no-migrate", "--log", "error"],
];

/// Every file of the program's folder, with what is in it.
fn files(program: &Program) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(program.folder.path()).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// In a folder with this `typo.db`, or without one.
fn mistyped(content: Option<&[u8]>) -> Program {
    let program = Program::bare().with("DATABASE_URL", "sqlite://typo.db");
    if let Some(content) = content {
        fs::write(program.folder.path().join("typo.db"), content).unwrap();
    }
    program
}

/// The address of a file in the program's folder, whose whole path says which one is meant.
fn whole(program: &Program, file: &str) -> String {
    format!("sqlite://{}", program.folder.path().canonicalize().unwrap().join(file).display())
}

#[test]
fn no_command_makes_a_database_by_mistake() {
    for content in [None, Some(&b""[..])] {
        let program = mistyped(content);
        let before = files(&program);
        for command in COMMANDS {
            let sentence = program.run(command).sentence();
            for part in ["DATABASE_URL", &format!("{},", whole(&program, "typo.db")), "`countersign migrate`"]
            {
                assert!(sentence.contains(part), "{command:?}: {sentence}");
            }
            assert_eq!(files(&program), before, "{command:?}");
        }
    }
}

#[test]
fn a_file_that_is_no_database_is_named_and_left_alone() {
    let garbage = [b"SQLite format 3\0".as_slice(), &[7; 5000]].concat();
    for content in [&b"a letter to my aunt"[..], &garbage] {
        let program = mistyped(Some(content));
        let before = files(&program);
        let making: [&[&str]; 2] = [&["migrate"], &["serve", "--listen", "127.0.0.1:0", "--log", "error"]];
        for command in COMMANDS.iter().chain(&making) {
            let expected = format!(
                "DATABASE_URL is {}, and that file is not a SQLite database.",
                whole(&program, "typo.db")
            );
            assert_eq!(program.run(command).sentence(), expected, "{command:?}");
        }
        let said = program.run(&CHECK);
        assert_eq!(said.code, Some(1));
        let problem = format!("PROBLEM: DATABASE_URL is {}, and that", whole(&program, "typo.db"));
        assert!(said.out.contains(&problem), "{}", said.out);
        assert_eq!(files(&program), before);
    }
}

#[test]
fn a_folder_is_no_database_either() {
    let program = Program::bare().with("DATABASE_URL", "sqlite://typo");
    fs::create_dir(program.folder.path().join("typo")).unwrap();
    for command in [&["agent", "list"][..], &["migrate"]] {
        let sentence = program.run(command).sentence();
        let expected = format!("DATABASE_URL is {}, which can't be read", whole(&program, "typo"));
        assert!(sentence.starts_with(&expected), "{sentence}");
    }
}

#[test]
fn a_link_to_nothing_is_no_place_for_a_database() {
    let program = mistyped(None);
    let (link, target) = (program.folder.path().join("typo.db"), program.folder.path().join("there.db"));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    for command in [
        &["agent", "list"][..],
        &["migrate"],
        &["serve", "--listen", "127.0.0.1:0", "--log", "error"],
    ] {
        let sentence = program.run(command).sentence();
        assert!(
            sentence
                .ends_with("typo.db, which is a link to a file that is not there; name that file itself."),
            "{sentence}"
        );
    }
    assert_eq!(fs::read_dir(program.folder.path()).unwrap().count(), 1, "nothing is made");
}

#[test]
fn what_is_no_file_is_waited_for_by_nobody() {
    let program = mistyped(None);
    let pipe = program.folder.path().join("typo.db");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for command in [&["agent", "list"][..], &["migrate"]] {
        let sentence = program.run(command).sentence();
        assert!(sentence.ends_with("typo.db, and that is no file."), "{sentence}");
    }
}

#[test]
fn checking_writes_nothing() {
    for content in [None, Some(&b""[..])] {
        let program = mistyped(content);
        let before = files(&program);
        let said = program.run(&CHECK).ok();
        assert!(said.contains("makes the database"), "{said}");
        assert_eq!(files(&program), before);
        let strict = program.run(&[&CHECK[..], &["--no-migrate"]].concat());
        assert_eq!(strict.code, Some(1));
        assert!(strict.out.contains("PROBLEM: COUNTERSIGN_NO_MIGRATE"), "{}", strict.out);
    }
    let program = Program::bare();
    program.run(&["migrate"]).ok();
    let before = files(&program);
    assert_eq!(before.len(), 2, "the database and its secret: {:?}", before.keys());
    for _ in 0..2 {
        assert!(program.run(&CHECK).ok().contains("up to date"));
        assert_eq!(files(&program), before);
    }
    fs::remove_file(program.folder.path().join("countersign.db.secret")).unwrap();
    let before = files(&program);
    let said = program.run(&CHECK).ok();
    assert!(said.contains("none at hand"), "{said}");
    assert_eq!(files(&program), before);
}

#[test]
fn the_first_steps_of_the_manual_work_in_their_order() {
    let program = Program::bare();
    let served = program.serve(&["serve", "--listen", "127.0.0.1:0"]);
    program.run(&["person", "add", "--email", "you@example.com", "--role", "owner"]).ok();
    let scopes = ["--scope", "orders:read", "--scope", "orders:write"];
    program.run(&[&["agent", "add", "--name", "support-agent"][..], &scopes].concat()).ok();
    let said = program.run(&["check", "--listen", &served.url["http://".len()..]]).ok();
    assert!(said.contains("running already") && said.contains("1 of 1 people"), "{said}");
}
