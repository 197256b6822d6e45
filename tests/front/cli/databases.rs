//! Databases that can't be used, and addresses that name none: one sentence, and no part of a password.

use std::thread;

use crate::support::Backend;
use crate::support::program::Program;
use crate::support::rival::Rival;

#[test]
fn a_malformed_address_gives_no_password_away() {
    at_once(
        [
            "postgres://me:se%zwiebel@127.0.0.1:1/shop",
            "postgres://me:se%zzzwiebel@127.0.0.1:1/shop",
            "postgres://me:se%00zwiebel@127.0.0.1:1/shop",
            "postgres://me:se@zwiebel@127.0.0.1:1/shop",
            "postgres://me:se/zwiebel@127.0.0.1:1/shop",
            "postgres://me:12/zwiebel@127.0.0.1:1/shop",
            "postgres://me:se?zwiebel@127.0.0.1:1/shop",
            "postgres://me:12?zwiebel@127.0.0.1:1/shop",
            "postgres://me:se#zwiebel@127.0.0.1:1/shop",
            "postgres://me:12#zwiebel@127.0.0.1:1/shop",
            "postgres://me:se[zwiebel@127.0.0.1:1/shop",
            "postgres://me:se zwiebel@127.0.0.1:1/shop",
            "postgres://127.0.0.1:zwiebel/shop",
            "postgres://127.0.0.1:1/shop?password=se%zwiebel",
            "postgres://127.0.0.1:1/shop?zwiebel",
            "postgres://127.0.0.1:1/shop?zwiebel=1",
        ],
        |url| {
            let program = Program::bare()
                .with("DATABASE_URL", url)
                .with("COUNTERSIGN_SECRET", crate::support::app::SECRET)
                .with("COUNTERSIGN_LOG", "trace");
            for command in
                [&["check"][..], &["migrate"], &["person", "list"], &["serve", "--listen", "127.0.0.1:0"]]
            {
                let said = program.run(command);
                assert_ne!(said.code, Some(0), "{url}");
                let all = format!("{}{}", said.out, said.err);
                for part in ["zwiebel", "se%", "se@"] {
                    assert!(!all.contains(part), "{url} {command:?}: {all}");
                }
                assert!(all.contains("DATABASE_URL"), "{url} {command:?}: {all}");
            }
        },
    );
}

#[test]
fn a_well_formed_address_is_tried() {
    at_once(
        [
            "postgres://me:se%25cr%40t@127.0.0.1:1/shop",
            "postgresql://me@127.0.0.1:1,127.0.0.1:2/shop?connect_timeout=2",
            "postgres://%2Fnowhere/shop",
            "postgres://me:zwiebel@nowhere.invalid/shop",
            "postgres:///shop?host=/nowhere&user=me",
            "postgres://me:a:b!$&'()*+,;=~@[::1]:1/shop",
        ],
        |url| {
            let program = Program::bare()
                .with("DATABASE_URL", url)
                .with("COUNTERSIGN_SECRET", crate::support::app::SECRET);
            let said = program.run(&["migrate"]);
            let sentence = said.err.lines().next().unwrap_or_default();
            assert!(sentence.contains("The database can't be reached"), "{url}: {said:?}");
        },
    );
}

/// Each address at the same time as the others: some take the time that a server is waited for.
fn at_once<const N: usize>(urls: [&str; N], test: impl Fn(&str) + Sync) {
    let test = &test;
    thread::scope(|scope| {
        for url in urls {
            scope.spawn(move || test(url));
        }
    });
}

#[test]
fn a_file_is_named_by_its_path() {
    for url in ["sqlite://file:a.db", "sqlite://sqlite://a.db"] {
        let program = Program::bare().with("DATABASE_URL", url);
        for command in ["migrate", "check", "seed"] {
            let said = program.run(&[command]);
            assert_ne!(said.code, Some(0));
            assert!(said.err.contains("DATABASE_URL (--database-url) must be a path"), "{said:?}");
        }
        let made = std::fs::read_dir(program.folder.path()).unwrap().count();
        assert_eq!(made, 0, "nothing is made");
    }
}

#[test]
fn a_database_of_another_encoding_is_refused() {
    if !Backend::Postgres.is_selected() {
        return;
    }
    let beside = Backend::Postgres.empty_database();
    let name = format!("latin_{}", uuid::Uuid::now_v7().simple());
    let mut rival = Rival::on(&beside);
    rival.run(&format!(
        "CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    ));
    let (server, query) = beside.url.split_once('?').unwrap_or((&beside.url, ""));
    let url = format!("{}/{name}?{query}", server.rsplit_once('/').unwrap().0);
    let program = Program::bare()
        .with("DATABASE_URL", &url)
        .with("COUNTERSIGN_SECRET", crate::support::app::SECRET);
    let outcomes = [
        &["migrate"][..],
        &["serve", "--listen", "127.0.0.1:0"],
        &["serve", "--no-migrate", "--listen", "127.0.0.1:0"],
        &["person", "list"],
    ]
    .map(|command| program.run(command));
    let check = program.run(&["check", "--listen", "127.0.0.1:0"]);
    rival.run(&format!("DROP DATABASE {name} WITH (FORCE)"));
    for said in outcomes {
        assert!(said.err.contains("LATIN1"), "{said:?}");
        assert_eq!(said.code, Some(1));
    }
    assert!(check.out.contains("PROBLEM: The database's encoding is LATIN1"), "{check:?}");
}
