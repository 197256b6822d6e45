//! What is no place for a copy: one sentence, and nothing is left behind.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::support::program::Program;
use crate::support::rival::Rival;
use crate::support::{Backend, Database};

const IS_THERE: &str = "is there already. Name a file that is yet to be made.";

#[test]
fn what_is_there_is_never_replaced() {
    let (database, program) = set_up();
    let folder = program.folder.path();
    fs::write(folder.join("letter"), "to my aunt").unwrap();
    fs::create_dir(folder.join("folder")).unwrap();
    symlink("nowhere", folder.join("dangling")).unwrap();
    for name in ["letter", "folder", "dangling", "."] {
        is_refused(&database, &program, name, IS_THERE);
    }
    assert_eq!(fs::read(folder.join("letter")).unwrap(), b"to my aunt");
}

#[test]
fn the_database_is_no_copy_of_itself() {
    let (database, program) = set_up();
    let (folder, original) = (program.folder.path(), super::path(&database));
    symlink(original, folder.join("symbolic")).unwrap();
    fs::hard_link(original, folder.join("hard")).unwrap();
    for name in [original, "symbolic", "hard"] {
        is_refused(&database, &program, name, "is the database itself. Name a file that is yet to be made.");
    }
    for end in ["-wal", "-shm", "-journal"] {
        let own = format!("{original}{end}");
        is_refused(&database, &program, &own, "is a file of the database's own. Name a file");
    }
    let (folder, name) = original.rsplit_once('/').unwrap();
    symlink(folder, program.folder.path().join("elsewhere")).unwrap();
    let own = format!("elsewhere/{name}-journal");
    is_refused(&database, &program, &own, "is a file of the database's own. Name a file");
}

#[test]
fn where_no_file_can_be_made_there_is_no_copy() {
    let (database, program) = set_up();
    fs::write(program.folder.path().join("letter"), "to my aunt").unwrap();
    for (name, why) in [
        ("nowhere/copy.db", "/nowhere: No such file or directory"),
        ("letter/copy.db", "/letter: Not a directory"),
        ("/proc/copy.db", "the copy can't be written in /proc: "),
        ("/", "FILE must name a file."),
    ] {
        is_refused(&database, &program, name, why);
    }
    let said = program.command(&["backup"]).arg(OsStr::from_bytes(b"copy\xff.db")).output().unwrap();
    assert_eq!(String::from_utf8(said.stderr).unwrap(), "No backup was made: FILE must be UTF-8 text.\n");
}

#[test]
fn where_there_is_no_room_nothing_is_left() {
    let (database, mut program) = set_up();
    Rival::on(&database).run("CREATE TABLE ballast AS SELECT randomblob(2000000) AS weight");
    // A file that may not grow, as on a disk that is full.
    let limited = ["sh", "-c", "trap '' XFSZ; ulimit -f 1000; exec \"$@\"", "sh"];
    program.go_through(&limited);
    let sentence = program.run(&["backup", "copy.db"]).sentence();
    assert!(sentence.starts_with("No backup was made: the copy can't be written in /"), "{sentence}");
    assert_eq!(fs::read_dir(program.folder.path()).unwrap().count(), 0);
    assert_eq!(Rival::on(&database).count("audit_events", "1 = 1"), 0);
    program.go_through(&[]);
    program.run(&["backup", "copy.db"]).ok();
}

#[test]
fn when_it_is_stopped_nothing_is_left() {
    let (database, program) = set_up();
    Rival::on(&database).run(
        "CREATE TABLE ballast AS WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1500)
         SELECT randomblob(65536) AS weight FROM n",
    );
    for signal in ["INT", "TERM"] {
        let mut copying = program.command(&["backup", "copy.db"]);
        let copying = copying.stderr(std::process::Stdio::piped()).spawn().unwrap();
        while fs::read_dir(program.folder.path()).unwrap().count() == 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let kill = format!("kill -{signal} {}", copying.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let ended = copying.wait_with_output().unwrap();
        let sentence = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), &*sentence), (Some(1), "No backup was made: it was stopped.\n"));
        assert_eq!(fs::read_dir(program.folder.path()).unwrap().count(), 0, "SIG{signal}");
    }
}

#[test]
fn on_postgres_its_own_tools_are_named() {
    let program = Program::bare()
        .with("DATABASE_URL", "postgres://me:zwiebel@127.0.0.1:1/shop")
        .with("COUNTERSIGN_SECRET", crate::support::app::SECRET);
    let sentence = program.run(&["backup", "copy.db"]).sentence();
    for part in ["pg_dump", "WAL archiving", "while it serves", "`countersign pause`"] {
        assert!(sentence.contains(part), "{sentence}");
    }
    assert_eq!(sentence.matches('.').count(), 1, "one sentence: {sentence}");
    assert_eq!(fs::read_dir(program.folder.path()).unwrap().count(), 0);
}

fn set_up() -> (Database, Program) {
    let database = Backend::Sqlite.fresh_database();
    let program = Program::on(&database);
    (database, program)
}

/// With a sentence, in a folder and a database that stay as they are.
#[track_caller]
fn is_refused(database: &Database, program: &Program, file: &str, why: &str) {
    let names = || {
        let mut names: Vec<_> = fs::read_dir(program.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let before = names();
    let sentence = program.run(&["backup", file]).sentence();
    assert!(
        sentence.starts_with("No backup was made: ") && sentence.contains(why),
        "{file:?}: {sentence}"
    );
    assert_eq!(names(), before, "{file:?}");
    assert_eq!(Rival::on(database).count("audit_events", "1 = 1"), 0, "{file:?}");
}
