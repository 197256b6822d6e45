//! `check`: ends with 0 only if `serve` would work, and says what is in force.

use std::net::TcpListener;

use crate::support::post::{Line, PASSWORD};
use crate::support::program::Program;
use crate::support::{Database, Fault, Post, backends};

backends!(a_good_set_up_passes_and_is_told_in_full);
async fn a_good_set_up_passes_and_is_told_in_full(database: &Database) {
    let program = Program::on(database).with("COUNTERSIGN_RETRY_WINDOW", "refund=2h,stock_adjustment=0");
    let said = program.run(&["check", "--listen", "127.0.0.1:0", "--action-ttl", "90m"]).ok();
    let line = |name: &str| {
        let line = said.lines().find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("no {name} in\n{said}")).to_owned()
    };
    assert!(line("refund").ends_with(" 2 h"));
    assert!(line("order_cancellation").ends_with(" 24 h"));
    assert!(line("stock_adjustment").contains("idempotency_key"));
    assert!(line("Requests wait").ends_with(" 90 min"));
    assert!(line("Secret").contains("COUNTERSIGN_SECRET"));
    assert!(line("Schema").contains("up to date"));
    assert!(line("Can decide").contains("person add"));
    assert!(line("E-mail").contains("off; set SMTP_URL"));
    assert!(!said.contains(crate::support::app::SECRET), "secrets stay secret");
}

#[test]
fn a_test_mail_goes_through_the_mail_server_and_its_words_are_passed_on() {
    let post = Post::on(Line::StartTls);
    let authority = post.authority.as_ref().unwrap().to_str().unwrap();
    let program = Program::bare().with("SMTP_URL", &post.url).with("COUNTERSIGN_SMTP_CA", authority);
    let check = ["check", "--listen", "127.0.0.1:0", "--mail-to", "you@example.com"];
    let said = program.run(&check).ok();
    assert!(said.contains("with STARTTLS, from Countersign <countersign@localhost>"), "{said}");
    assert!(said.contains("the server took one for you@example.com"), "{said}");
    assert_eq!(post.mails()[0].to, ["you@example.com"]);

    post.does(Fault::UnknownRecipient);
    let said = program.run(&check);
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("PROBLEM: The mail server refused the test mail: "), "{}", said.out);
    assert!(said.out.contains("No such mailbox here"), "{}", said.out);
    assert!(said.sentence().ends_with("would work, but there is a problem with mail."));

    let stranger = Program::bare().with("SMTP_URL", &post.url);
    let said = stranger.run(&check);
    assert!(said.out.contains("PROBLEM: The mail server can't be used: "), "{}", said.out);
    assert!(!said.out.contains(PASSWORD), "{}", said.out);
    assert!(said.sentence().ends_with("would work, but there is a problem with mail."));
    let off = Program::bare().run(&check);
    assert_eq!(off.code, Some(1));
    assert!(off.out.contains("PROBLEM: There is no mail server"), "{}", off.out);
}

backends!(an_empty_database_passes_because_serving_migrates_it);
async fn an_empty_database_passes_because_serving_migrates_it(migrated: &Database) {
    let empty = migrated.backend.empty_database();
    let said = Program::on(&empty).run(&["check", "--listen", "127.0.0.1:0"]).ok();
    assert!(said.contains("brings it up to date"), "{said}");
}

#[test]
fn what_would_keep_serve_from_working_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let said = Program::bare().run(&["check", "--listen", &listen]);
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("PROBLEM: COUNTERSIGN_LISTEN"), "{}", said.out);

    let away = Program::bare().with("DATABASE_URL", "postgres://me:hidden@127.0.0.1:1/nothing");
    let said = away.run(&["check", "--listen", "127.0.0.1:0"]);
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("PROBLEM: COUNTERSIGN_SECRET is missing"), "{}", said.out);
    assert!(said.out.contains("PROBLEM: The database can't be reached"), "{}", said.out);
    assert!(said.err.contains("2 problems"), "{}", said.err);
    assert!(!said.out.contains("hidden"), "{}", said.out);

    let unwritable = Program::bare().with("DATABASE_URL", "sqlite:///nowhere/at/all.db");
    assert_eq!(unwritable.run(&["check", "--listen", "127.0.0.1:0"]).code, Some(1));
}

backends!(a_reader_that_has_seen_enough_is_no_failure);
async fn a_reader_that_has_seen_enough_is_no_failure(database: &Database) {
    let program = Program::on(database);
    program.run(&["migrate"]).ok();
    program.run(&["person", "add", "--email", "owner@example.com", "--role", "owner"]).ok();
    for command in [&["check"][..], &["person", "list"], &["agent", "list", "--json"], &["connect", "cursor"]]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command_line = program.command(command);
        command_line.env("COUNTERSIGN_LISTEN", "127.0.0.1:0").stdout(writer);
        let ended = command_line.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), said.as_ref()), (Some(0), ""), "{command:?}");
    }
}
