//! A database of every earlier release comes up to date with all that is in it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::program::Program;
use crate::support::rival::Rival;
use crate::support::{Backend, Database, backends};

/// The first schema that could be used at all.
const FIRST: usize = 2;

/// What any release may have stored: a person, an agent and its two actions, one of them open, and two events.
const STORED: &str = "
    INSERT INTO people (id, email, role, password_hash, enabled, created_at, lock_no)
    VALUES ('p1', 'ana@example.com', 'owner', 'none', {yes}, '2026-01-01 08:00:00.000000', 3);
    INSERT INTO agents (id, name, owner_id, scopes, created_at, lock_no)
    VALUES ('a1', 'assistant', 'p1', 'orders:read orders:write', '2026-01-01 08:00:00.000000', 0);
    INSERT INTO sessions (prefix, mac, person_id, address, created_at, expires_at, lock_no)
    VALUES ('s1', 'mac', 'p1', '192.0.2.1', '2026-01-01 08:00:00.000000', '2026-01-02 08:00:00.000000', 0);
    INSERT INTO actions (id, kind, kind_version, agent_id, slot_key, attempt, requested_params, effective_params, fingerprint,
        reason, digest, summary, headline, figure, status, requested_at, expires_at, decided_at, decided_by, result, lock_no)
    VALUES ('done', 'refund', 1, 'a1', 'd:done', 1, '{}', '{}', 'f1', 'late', 'd1', 'Refund', 'Refund', 'EUR 1.00', 'executed',
        '2026-01-01 09:00:00.000000', '2026-01-01 09:30:00.000000', '2026-01-01 09:10:00.000000', 'p1', '{}', 2),
        ('open', 'refund', 1, 'a1', 'd:open', 1, '{}', '{}', 'f2', 'broken', 'd2', 'Refund', 'Refund', 'EUR 2.00', 'pending',
        '2026-01-01 09:00:00.000000', '2099-01-01 09:30:00.000000', NULL, NULL, NULL, 0);
    INSERT INTO action_subjects (action_id, subject, version) VALUES ('done', 'order:1', 1), ('open', 'order:2', 4);
    INSERT INTO slots (principal_id, key, fingerprint, action_id, attempt, touches)
    VALUES ('a1', 'd:done', 'f1', 'done', 1, 2), ('a1', 'd:open', 'f2', 'open', 1, 1);
    INSERT INTO pauses (target, paused_by, paused_at) VALUES ('kind:refund', 'p1', '2026-01-01 10:00:00.000000');
    INSERT INTO audit_events (id, at, category, event, actor_kind, actor_id, action_id, outcome, denied, body)
    VALUES ('e1', '2026-01-01 09:00:00.000000', 'tools', 'tool_call', 'agent', 'a1', 'done', 'new', {no}, '{\"event\":\"tool_call\"}');
    INSERT INTO audit_events (id, at, category, event, actor_kind, actor_id, action_id, outcome, denied, body)
    VALUES ('e2', '2026-01-01 09:10:00.000000', 'decisions', 'approval', 'person', 'p1', 'done', 'executed', {no}, '{\"event\":\"approval\"}');";

/// Where denials were counted before the fourth schema, and since.
const COUNTED_BEFORE: &str = "INSERT INTO denial_floods (agent_id, code, minute, denials)
    VALUES ('a1', 'scope_missing', '2099-01-01 09:00:00.000000', 7)";
const COUNTED_SINCE: &str =
    "INSERT INTO floods (event, actor_kind, actor_id, door, address, code, minute, denials)
    VALUES ('tool_call', 'agent', 'a1', 'internal', '', 'scope_missing', '2099-01-01 09:00:00.000000', 7)";

backends!(what_earlier_releases_stored_stays);
async fn what_earlier_releases_stored_stays(database: &Database) {
    let all = migrations(database.backend);
    for release in FIRST..=all.len() {
        let earlier = database.backend.empty_database();
        let mut rival = Rival::on(&earlier);
        rival.run(
            "CREATE TABLE __diesel_schema_migrations
             (version VARCHAR(50) PRIMARY KEY NOT NULL, run_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)",
        );
        for migration in &all[..release] {
            rival.run(&fs::read_to_string(migration.join("up.sql")).unwrap());
            let name = migration.file_name().unwrap().to_str().unwrap();
            let version = name.split('_').next().unwrap();
            rival.run(&format!("INSERT INTO __diesel_schema_migrations (version) VALUES ('{version}')"));
        }
        let [yes, no] = match database.backend {
            Backend::Sqlite => ["1", "0"],
            Backend::Postgres => ["TRUE", "FALSE"],
        };
        rival.run(&STORED.replace("{yes}", yes).replace("{no}", no));
        rival.run(if release < 4 { COUNTED_BEFORE } else { COUNTED_SINCE });

        Program::on(&earlier).run(&["migrate"]).ok();
        assert_eq!(stored(&mut rival), STANDS, "after {release} migrations");
        for change in ["DELETE FROM audit_events", "UPDATE audit_events SET outcome = 'new'"] {
            let refused = rival.try_to(change).unwrap_err().to_string();
            assert!(refused.contains("append-only"), "after {release} migrations: {refused}");
        }

        let program = Program::on(&earlier);
        program.run(&["agent", "add", "--name", "clerk", "--scope", "orders:read"]).ok();
        let exported = program.run(&["audit", "export"]).ok();
        let events = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let events: Vec<_> =
            events.map(|event| event["body"]["event"].as_str().unwrap().to_owned()).collect();
        assert_eq!(events[..2], ["tool_call", "approval"], "after {release} migrations: {exported}");
        assert!(events.len() > 2, "what happens now is logged behind it: {exported}");
    }
}

/// The migrations' folders, in their order.
fn migrations(backend: Backend) -> Vec<PathBuf> {
    let folder = match backend {
        Backend::Sqlite => "migrations/sqlite",
        Backend::Postgres => "migrations/postgres",
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// What [`stored`] finds of it.
const STANDS: [&str; 9] = [
    "action done executed 2",
    "action open pending 0",
    "counted scope_missing 7",
    "event e1 new",
    "event e2 executed",
    "open session s1",
    "pause kind:refund",
    "subject order:1 1 until 2026-01-01",
    "subject order:2 4 until 2099-01-01",
];

fn stored(rival: &mut Rival) -> Vec<String> {
    rival.texts(
        "SELECT 'action ' || id || ' ' || status || ' ' || lock_no AS t FROM actions
         UNION ALL SELECT 'counted ' || code || ' ' || denials FROM floods WHERE actor_id = 'a1' AND event = 'tool_call'
         UNION ALL SELECT 'event ' || id || ' ' || outcome FROM audit_events WHERE id IN ('e1', 'e2')
         UNION ALL SELECT 'open session ' || prefix FROM sessions WHERE ended_at IS NULL
         UNION ALL SELECT 'pause ' || target FROM pauses WHERE restored_from IS NULL
         UNION ALL SELECT 'subject ' || subject || ' ' || version || ' until ' || substr(CAST(expires_at AS TEXT), 1, 10)
             FROM action_subjects
         ORDER BY 1",
    )
}
