//! The secret under which a database's keys are made, and what becomes of another.

use std::fs;

use super::serving::SERVE;
use crate::support::program::Program;
use crate::support::{Database, backends};

const ANOTHER: &str = "5f0b7c9e2d4a41868b3c6f1e9d7a0c25";
const CHECK: [&str; 3] = ["check", "--listen", "127.0.0.1:0"];
const NEW_AGENT: [&str; 6] = ["agent", "add", "--name", "helper", "--scope", "orders:read"];

fn under(secret: &str, database: &Database) -> Program {
    Program::bare().with("DATABASE_URL", &database.url).with("COUNTERSIGN_SECRET", secret)
}

#[track_caller]
fn is_refused(sentence: &str) {
    assert!(sentence.starts_with("COUNTERSIGN_SECRET is not the secret under which"), "{sentence}");
    assert!(sentence.contains("countersign migrate --new-secret"), "{sentence}");
    assert!(!sentence.contains(ANOTHER), "{sentence}");
}

backends!(under_another_secret_nothing_is_served_and_no_key_is_made);
async fn under_another_secret_nothing_is_served_and_no_key_is_made(database: &Database) {
    let (right, wrong) = (Program::on(database), under(ANOTHER, database));
    assert!(!wrong.run(&CHECK).ok().contains("Keys"), "none is made yet");
    let owner = ["person", "add", "--email", "you@example.com", "--role", "owner"];
    right.run(&owner).ok();
    right.run(&NEW_AGENT).ok();

    for refused in [
        SERVE,
        &NEW_AGENT[..],
        &["agent", "rotate", "--name", "helper"],
        &["person", "add", "--email", "me@example.com", "--role", "owner"],
        &["person", "reset-password", "--email", "you@example.com"],
        &["mcp", "--agent-key", "csk_nobody"],
    ] {
        is_refused(&wrong.run(refused).sentence());
    }
    let said = wrong.run(&CHECK);
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("PROBLEM: COUNTERSIGN_SECRET is not the secret"), "{}", said.out);
    assert!(right.run(&CHECK).ok().contains("made under this secret"));

    // What needs no secret goes on: an emergency does not wait for one.
    wrong.run(&["pause"]).ok();
    wrong.run(&["agent", "revoke", "--name", "helper"]).ok();
    wrong.run(&["audit", "export"]).ok();
    right.serve(SERVE);
}

backends!(a_new_secret_is_put_in_the_place_of_the_old_one_when_asked);
async fn a_new_secret_is_put_in_the_place_of_the_old_one_when_asked(database: &Database) {
    let (old, new) = (Program::on(database), under(ANOTHER, database));
    let key = old.run(&[&NEW_AGENT[..], &["--json"]].concat()).json()["key"].clone();
    new.run(&["migrate"]).ok();
    is_refused(&new.run(SERVE).sentence());
    assert!(new.run(&["migrate", "--new-secret"]).ok().contains("from now on"));
    assert!(new.run(&["migrate", "--new-secret"]).ok().contains("already"));
    is_refused(&old.run(SERVE).sentence());

    let served = new.serve(SERVE);
    let again = new.run(&["agent", "rotate", "--name", "helper", "--json"]).json()["key"].clone();
    for (key, status) in [(key, 401), (again, 200)] {
        let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let sent = reqwest::Client::new()
            .post(format!("{}/mcp", served.url))
            .bearer_auth(key.as_str().unwrap())
            .header("Accept", "application/json, text/event-stream")
            .header("Content-Type", "application/json")
            .header("MCP-Protocol-Version", "2025-06-18")
            .body(message)
            .send();
        assert_eq!(sent.await.unwrap().status(), status);
    }
    let log = new.run(&["audit", "export"]).ok();
    assert_eq!(log.matches("secret_replaced").count(), 1, "{log}");
}

backends!(of_two_secrets_at_once_one_is_the_databases);
async fn of_two_secrets_at_once_one_is_the_databases(database: &Database) {
    let programs = [Program::on(database), under(ANOTHER, database)];
    let ended: Vec<_> = std::thread::scope(|scope| {
        let add = |name: &'static str| ["agent", "add", "--name", name, "--scope", "orders:read"];
        let runs: Vec<_> = programs
            .iter()
            .zip(["one", "other"])
            .map(|(program, name)| scope.spawn(move || program.run(&add(name))))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap().code).collect()
    });
    let mut sorted = ended.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [Some(0), Some(1)]);
    for (program, code) in programs.iter().zip(ended) {
        assert_eq!(program.run(&CHECK).code, code);
    }
}

#[test]
fn a_secret_that_is_lost_is_missed() {
    let program = Program::bare();
    program.run(&["migrate"]).ok();
    program.run(&NEW_AGENT).ok();
    let secret = program.folder.path().join("countersign.db.secret");
    let kept = fs::read(&secret).unwrap();
    fs::remove_file(&secret).unwrap();
    let said = program.run(&CHECK);
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("PROBLEM: countersign.db.secret is not the secret"), "{}", said.out);
    let refused = program.run(SERVE);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("countersign.db.secret is not the secret"), "{}", refused.err);
    fs::write(&secret, kept).unwrap();
    program.serve(SERVE);
}
