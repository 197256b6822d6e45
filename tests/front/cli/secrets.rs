//! The secret under which a database's keys are made, and what becomes of another.

use std::fs;
use std::path::Path;

use super::serving::SERVE;
use crate::support::app::SECRET;
use crate::support::program::{Program, Said};
use crate::support::rival::Rival;
use crate::support::{Backend, Database, backends};

const ANOTHER: &str = "5f0b7c9e2d4a41868b3c6f1e9d7a0c25";
const CHECK: [&str; 3] = ["check", "--listen", "127.0.0.1:0"];
const OWNER: [&str; 6] = ["person", "add", "--email", "you@example.com", "--role", "owner"];
const AGENT: [&str; 6] = ["agent", "add", "--name", "helper", "--scope", "orders:read"];

fn under(secret: &str, database: &Database) -> Program {
    Program::bare().with("DATABASE_URL", &database.url).with("COUNTERSIGN_SECRET", secret)
}

/// What `serve` printed before it ended.
#[track_caller]
fn refused(program: &Program, serving: &[&str]) -> String {
    match program.try_to_serve(serving) {
        Ok(served) => panic!("it serves at {}", served.url),
        Err(printed) => printed,
    }
}

#[track_caller]
fn no_key(said: Said) {
    let sentence = said.sentence();
    assert!(sentence.starts_with("The secret at hand is not this database's"), "{sentence}");
    assert!(sentence.contains("countersign check"), "{sentence}");
}

#[track_caller]
fn problem(program: &Program, words: &str) {
    let said = program.run(&CHECK);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains(&format!("PROBLEM: {words}")), "{}", said.out);
    assert!(said.out.contains("countersign migrate --new-secret"), "{}", said.out);
    assert!(!said.out.contains(ANOTHER) && !said.out.contains(SECRET), "{}", said.out);
}

backends!(under_another_secret_nothing_is_served_and_no_key_is_made);
async fn under_another_secret_nothing_is_served_and_no_key_is_made(database: &Database) {
    let (right, wrong) = (Program::on(database), under(ANOTHER, database));
    assert!(!wrong.run(&CHECK).ok().contains("Keys"), "none is made yet");
    right.run(&OWNER).ok();
    right.run(&AGENT).ok();

    let serving = refused(&wrong, SERVE);
    assert!(serving.contains("COUNTERSIGN_SECRET is not the secret that"), "{serving}");
    let straight = wrong.run(&["mcp", "--agent-key", "cs_a_nobody"]).sentence();
    assert!(straight.starts_with("COUNTERSIGN_SECRET is not the secret that"), "{straight}");
    for making in [
        &["agent", "add", "--name", "another", "--scope", "orders:read"][..],
        &["agent", "rotate", "--name", "helper"],
        &["person", "add", "--email", "me@example.com", "--role", "owner"],
        &["person", "reset-password", "--email", "you@example.com"],
    ] {
        no_key(wrong.run(making));
    }
    problem(&wrong, "COUNTERSIGN_SECRET is not the secret that");
    assert!(right.run(&CHECK).ok().contains("are made under this secret"));

    // What needs no secret goes on: an emergency does not wait for one.
    wrong.run(&["pause"]).ok();
    wrong.run(&["agent", "revoke", "--name", "helper"]).ok();
    wrong.run(&["audit", "export"]).ok();
    right.serve(SERVE);
}

backends!(a_new_secret_takes_the_place_of_the_old_one_when_asked);
async fn a_new_secret_takes_the_place_of_the_old_one_when_asked(database: &Database) {
    let (old, new) = (Program::on(database), under(ANOTHER, database));
    let key = old.run(&[&AGENT[..], &["--json"]].concat()).json()["key"].clone();
    let token = old.run(&[&OWNER[..], &["--json"]].concat()).json()["api_token"].clone();
    new.run(&["migrate"]).ok();
    refused(&new, SERVE);
    assert!(new.run(&["migrate", "--new-secret"]).ok().contains("from now on"));
    assert!(
        new.run(&["migrate", "--new-secret"])
            .ok()
            .contains("Nothing was replaced: COUNTERSIGN_SECRET was")
    );
    refused(&old, SERVE);

    let served = new.serve(SERVE);
    let ask = async |path: &str, key: &serde_json::Value| {
        let asked = reqwest::Client::new().get(format!("{}{path}", served.url));
        asked.bearer_auth(key.as_str().unwrap()).send().await.unwrap().status().as_u16()
    };
    assert_eq!(ask("/api/v1/actions", &token).await, 401);
    // Of a key that is known it would say that GET is not for it.
    assert_eq!(ask("/mcp", &key).await, 401);
    let again = new.run(&["agent", "rotate", "--name", "helper", "--json"]).json()["key"].clone();
    assert_eq!(ask("/mcp", &again).await, 405);
    let log = new.run(&["audit", "export"]).ok();
    assert_eq!(log.matches("secret_replaced").count(), 1, "{log}");
}

backends!(a_database_from_before_is_told_by_whoever_serves_it);
async fn a_database_from_before_is_told_by_whoever_serves_it(database: &Database) {
    let (right, wrong) = (Program::on(database), under(ANOTHER, database));
    right.run(&AGENT).ok();
    // As an upgrade leaves it.
    Rival::on(database).run("DELETE FROM secret_mark");
    for early in [&wrong, &right] {
        let sentence = early.run(&["agent", "rotate", "--name", "helper"]).sentence();
        assert!(sentence.contains("Start `countersign serve` once"), "{sentence}");
    }
    // It looks at keys, and makes none.
    wrong.run(&["mcp", "--agent-key", "cs_a_nobody"]);
    right.serve(SERVE);
    no_key(wrong.run(&["agent", "rotate", "--name", "helper"]));
    right.run(&["agent", "rotate", "--name", "helper"]).ok();
    let log = right.run(&["audit", "export"]).ok();
    assert_eq!(log.matches("secret_set").count(), 1, "{log}");
}

backends!(a_denial_tells_a_database_of_no_secret);
async fn a_denial_tells_a_database_of_no_secret(database: &Database) {
    let (right, wrong) = (Program::on(database), under(ANOTHER, database));
    for denied in [
        &["agent", "rotate", "--name", "nobody"][..],
        &["person", "reset-password", "--email", "nobody@example.com"],
        &["agent", "add", "--name", "a", "--scope", "orders:read", "--owner", "nobody@example.com"],
    ] {
        assert!(wrong.run(denied).sentence().starts_with("There is no "));
    }
    right.run(&AGENT).ok();
    right.serve(SERVE);
}

backends!(under_another_secret_nothing_is_migrated_and_check_says_why);
async fn under_another_secret_nothing_is_migrated_and_check_says_why(database: &Database) {
    let (right, wrong) = (Program::on(database), under(ANOTHER, database));
    right.run(&AGENT).ok();
    // As if a migration were pending. It could not be applied a second time, and nobody tries.
    Rival::on(database)
        .run("DELETE FROM __diesel_schema_migrations WHERE version = (SELECT MAX(version) FROM __diesel_schema_migrations)");
    let serving = refused(&wrong, SERVE);
    assert!(serving.contains("COUNTERSIGN_SECRET is not the secret"), "{serving}");
    problem(&wrong, "COUNTERSIGN_SECRET is not the secret");
    assert!(right.run(&CHECK).ok().contains("behind; `countersign serve` brings it up to date"));
}

#[test]
fn a_secret_that_is_missing_is_not_made_anew() {
    let database = Backend::Sqlite.fresh_database();
    let program = Program::bare().with("DATABASE_URL", &database.url);
    program.run(&AGENT).ok();
    let secret = Path::new(database.url.strip_prefix("sqlite://").unwrap()).with_added_extension("secret");
    let kept = fs::read(&secret).unwrap();
    fs::remove_file(&secret).unwrap();
    let place = format!(
        "The secret under which {} makes keys, tokens and sign-ins is not at hand: there is no {}.",
        database.url,
        secret.display()
    );
    problem(&program, &place);
    let serving = refused(&program, SERVE);
    assert!(serving.contains(&place), "{serving}");
    no_key(program.run(&["agent", "rotate", "--name", "helper"]));
    program.run(&["pause"]).ok();
    program.run(&["migrate"]).ok();
    assert!(!secret.exists(), "nothing is put in its place");

    // As an upgrade leaves it.
    Rival::on(&database).run("DELETE FROM secret_mark");
    let serving = refused(&program, SERVE);
    assert!(serving.contains(&place), "{serving}");
    assert!(!secret.exists(), "nothing is put in its place");

    fs::write(&secret, &kept).unwrap();
    program.serve(SERVE);
    fs::remove_file(&secret).unwrap();
    assert!(program.run(&["migrate", "--new-secret"]).ok().contains("from now on"));
    assert_ne!(fs::read(&secret).unwrap(), kept);
    program.serve(SERVE);
}

#[test]
fn a_new_secret_is_for_a_database_that_is_there() {
    let program = Program::bare();
    let refused =
        || program.run(&["migrate", "--new-secret"]).sentence().contains("where no database is yet");
    assert!(refused());
    assert_eq!(fs::read_dir(program.folder.path()).unwrap().count(), 0);
    fs::write(program.folder.path().join("countersign.db"), "").unwrap();
    assert!(refused());
    assert_eq!(fs::read_dir(program.folder.path()).unwrap().count(), 1);
}

#[test]
fn a_demo_whose_secret_is_missing_says_what_to_do() {
    let program = Program::bare();
    let demo = ["demo", "--listen", "127.0.0.1:0"];
    program.serve(&demo);
    let secret = program.folder.path().join("countersign-demo/countersign.db.secret");
    fs::remove_file(&secret).unwrap();
    let said = refused(&program, &demo);
    assert!(said.contains("is not at hand") && said.contains("remove the folder"), "{said}");
    assert!(!secret.exists());
}
