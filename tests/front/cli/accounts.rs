//! `person`, `agent`, `pause` and `audit export`.

use countersign::app::App;
use countersign::audit::Source;
use countersign::config::Config;
use serde_json::{Value, json};

use crate::support::app::SECRET;
use crate::support::program::Program;
use crate::support::rival::Rival;
use crate::support::{Database, backends};

/// Another process on the same database.
fn application(database: &Database) -> App {
    let mut config = Config::on(&database.url).unwrap();
    config.secret = Some(SECRET.to_owned());
    App::build(config).unwrap()
}

fn members(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

backends!(people_come_and_go);
async fn people_come_and_go(database: &Database) {
    let (program, app) = (Program::on(database), application(database));
    let add = ["person", "add", "--email", "Ana@Example.com", "--role", "approver", "--json"];
    let ana = program.run(&add).json();
    assert_eq!(members(&ana), ["email", "role", "password", "api_token"]);
    assert_eq!((&ana["email"], &ana["role"]), (&json!("ana@example.com"), &json!("approver")));
    let (password, token) = (ana["password"].as_str().unwrap(), ana["api_token"].as_str().unwrap());
    app.auth.sign_in("ana@example.com", password, &Source::CLI).await.unwrap();
    assert_eq!(app.auth.api_token(token, &Source::CLI).await.unwrap().person.email, "ana@example.com");

    assert_eq!(program.run(&add).sentence(), "There is already a person ana@example.com.");
    let nobody = ["person", "disable", "--email", "bo@example.com"];
    assert_eq!(program.run(&nobody).sentence(), "There is no person with that e-mail address.");

    program.run(&["person", "role", "--email", "ana@example.com", "--role", "auditor"]).ok();
    let list = program.run(&["person", "list", "--json"]).json();
    let id = &list[0]["id"];
    assert_eq!(
        list,
        json!([{ "id": id, "email": "ana@example.com", "role": "auditor", "enabled": true }])
    );

    let disable = ["person", "disable", "--email", "ana@example.com"];
    assert_eq!(program.run(&disable).ok(), "ana@example.com is disabled.\n");
    assert_eq!(program.run(&disable).ok(), "ana@example.com was disabled already.\n");
    assert!(app.auth.sign_in("ana@example.com", password, &Source::CLI).await.is_err());
    assert!(app.auth.api_token(token, &Source::CLI).await.is_err());
    assert!(program.run(&["person", "list"]).ok().contains("disabled"));

    let again = program.run(&["person", "reset-password", "--email", "ana@example.com", "--json"]).json();
    assert_eq!(members(&again), ["email", "role", "password", "api_token"]);
    app.auth.api_token(again["api_token"].as_str().unwrap(), &Source::CLI).await.unwrap();
    assert!(app.auth.api_token(token, &Source::CLI).await.is_err(), "the old one stays dead");
}

backends!(agents_come_and_go);
async fn agents_come_and_go(database: &Database) {
    let (program, app) = (Program::on(database), application(database));
    program.run(&["person", "add", "--email", "owner@example.com", "--role", "owner"]).ok();
    let add = |scope: &str| {
        program.run(&[
            "agent",
            "add",
            "--name",
            "helper",
            "--scope",
            "orders:read",
            "--scope",
            scope,
            "--json",
        ])
    };
    assert!(add("orders:burn").sentence().contains("orders:write"), "it names the scopes there are");
    let added = add("inventory:read").json();
    assert_eq!(members(&added), ["name", "key", "scopes"]);
    assert_eq!(added["scopes"], json!(["inventory:read", "orders:read"]));
    let key = added["key"].as_str().unwrap();
    let caller = app.gateway.authenticate(key, &Source::CLI).await.unwrap();
    assert_eq!(caller.scopes, ["inventory:read", "orders:read"]);

    program.run(&["agent", "scopes", "--name", "helper", "--scope", "orders:write"]).ok();
    let list = program.run(&["agent", "list", "--json"]).json();
    let helper = json!({
        "id": caller.agent_id, "name": "helper", "scopes": ["orders:write"], "owner": "owner@example.com", "revoked": false,
    });
    assert_eq!(list, json!([helper]));

    let rotated = program.run(&["agent", "rotate", "--name", "helper", "--json"]).json();
    assert!(app.gateway.authenticate(key, &Source::CLI).await.is_err());
    let same = app.gateway.authenticate(rotated["key"].as_str().unwrap(), &Source::CLI).await.unwrap();
    assert_eq!(same.agent_id, caller.agent_id, "a new key is no new principal");

    let revoke = ["agent", "revoke", "--name", "helper"];
    assert_eq!(program.run(&revoke).ok(), "helper is revoked.\n");
    assert_eq!(program.run(&revoke).ok(), "helper was revoked already.\n");
    for change in [
        &["rotate", "--name", "helper"][..],
        &["scopes", "--name", "helper", "--scope", "orders:read"],
    ] {
        let said = program.run(&[&["agent"], change].concat());
        assert_eq!(said.sentence(), "helper is revoked for good.", "{change:?}");
    }
    let list = program.run(&["agent", "list", "--json"]).json();
    assert_eq!(list[0]["scopes"], json!(["orders:write"]), "as they were");
    assert!(app.gateway.authenticate(rotated["key"].as_str().unwrap(), &Source::CLI).await.is_err());
    assert!(program.run(&["agent", "list"]).ok().contains("revoked"));
}

backends!(a_name_is_what_is_seen);
async fn a_name_is_what_is_seen(database: &Database) {
    let program = Program::on(database);
    for (name, code) in
        [("help\u{202e}er", "U+202E"), ("help\u{200b}er", "U+200B"), ("help\u{1b}[2Jer", "U+001B")]
    {
        let said = program.run(&["agent", "add", "--name", name, "--scope", "orders:read"]).sentence();
        assert_eq!(said, format!("A name has visible characters only; {code} is none."));
        let email = format!("{name}@example.com");
        let said = program.run(&["person", "add", "--email", &email, "--role", "viewer"]).sentence();
        assert_eq!(said, format!("An e-mail address has visible characters only; {code} is none."));
    }
    for email in ["ana", "ana@@example.com", "ana@example..com", "Ana <ana@example.com>"] {
        let said = program.run(&["person", "add", "--email", email, "--role", "viewer"]).sentence();
        assert_eq!(said, "That is not an e-mail address.");
    }
}

backends!(the_last_owner_stays);
async fn the_last_owner_stays(database: &Database) {
    let program = Program::on(database);
    for email in ["ana@example.com", "bo@example.com"] {
        program.run(&["person", "add", "--email", email, "--role", "owner"]).ok();
    }
    let disable = |email: &str| program.run(&["person", "disable", "--email", email]);
    let demote = |email: &str| program.run(&["person", "role", "--email", email, "--role", "viewer"]);
    disable("ana@example.com").ok();
    let only = "bo@example.com is the only owner. Make somebody else an owner first.";
    assert_eq!(disable("bo@example.com").sentence(), only);
    assert_eq!(demote("bo@example.com").sentence(), only);
    program.run(&["person", "reset-password", "--email", "ana@example.com"]).ok();
    demote("bo@example.com").ok();
    assert!(demote("bo@example.com").ok().contains("was viewer already"));
    assert!(demote("ana@example.com").sentence().starts_with("ana@example.com is the only owner."));
    let events = program.run(&["audit", "export"]).ok();
    assert_eq!(events.lines().count(), 5, "what changed nothing is no event: {events}");
}

backends!(an_agent_before_any_owner_is_added_and_told_of);
async fn an_agent_before_any_owner_is_added_and_told_of(database: &Database) {
    let program = Program::on(database);
    let add = |name| ["agent", "add", "--scope", "orders:read", "--name", name];
    assert!(program.run(&add("first")).ok().contains("belongs to nobody"));
    program.run(&[&add("second")[..], &["--json"]].concat()).json();
    program.run(&["person", "add", "--email", "ana@example.com", "--role", "owner"]).ok();
    assert!(!program.run(&add("third")).ok().contains("belongs to"));
}

backends!(a_pause_comes_into_force_and_ends);
async fn a_pause_comes_into_force_and_ends(database: &Database) {
    let program = Program::on(database);
    program.run(&["agent", "add", "--name", "helper", "--scope", "orders:read"]).ok();
    program.run(&["pause", "--agent", "helper"]).ok();
    let told = program.run(&["resume"]).ok();
    assert_eq!(told, "There is no pause of everything.\nThere is one of an agent (--agent helper).\n");
    program.run(&["resume", "--agent", "helper"]).ok();
    for target in [&[][..], &["--kind", "refund"], &["--agent", "helper"]] {
        let run = |command: &str| program.run(&[&[command], target].concat()).ok();
        assert!(run("pause").starts_with("Paused "), "{target:?}");
        assert!(run("pause").contains("already"), "{target:?}");
        assert!(program.run(&["check", "--listen", "127.0.0.1:0"]).ok().contains("Paused"));
        assert!(run("resume").starts_with("Resumed "), "{target:?}");
        assert!(run("resume").starts_with("There is no pause"), "{target:?}");
    }
    for target in [["--kind", "bribe"], ["--agent", "nobody"]] {
        program.run(&["pause", target[0], target[1]]).sentence();
    }
    let mut rival = Rival::on(database);
    assert_eq!(rival.count("audit_events", "event = 'pause' AND denied AND outcome = 'not_found'"), 2);
}

backends!(the_log_is_exported_in_order);
async fn the_log_is_exported_in_order(database: &Database) {
    let program = Program::on(database);
    program.run(&["person", "add", "--email", "owner@example.com", "--role", "owner"]).ok();
    program.run(&["pause"]).ok();
    let lines = program.run(&["audit", "export"]).ok();
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seen: Vec<_> = events.iter().map(|event| event["body"]["event"].as_str().unwrap()).collect();
    assert_eq!(seen, ["account", "pause"]);
    let table = program.run(&["audit", "export", "--format", "csv", "--since", "2020-01-01"]).ok();
    assert_eq!(table.lines().count(), 3, "{table}");
    assert_eq!(program.run(&["audit", "export", "--until", "2020-01-01"]).ok(), "");
    assert_eq!(program.run(&["audit", "export", "--since", "soon"]).code, Some(2));
}

backends!(a_disabled_person_is_told_of_as_one);
async fn a_disabled_person_is_told_of_as_one(database: &Database) {
    let program = Program::on(database);
    for (email, role) in [("ana@example.com", "owner"), ("bo@example.com", "viewer")] {
        program.run(&["person", "add", "--email", email, "--role", role]).ok();
    }
    program.run(&["person", "disable", "--email", "bo@example.com"]).ok();
    let role = |role| program.run(&["person", "role", "--email", "bo@example.com", "--role", role]).ok();
    assert_eq!(role("auditor"), "bo@example.com is auditor now, and still disabled.\n");
    assert_eq!(role("auditor"), "bo@example.com was auditor already, and is disabled.\n");
}
