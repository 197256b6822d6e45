//! What is refused before it is anybody's call is in the log too, and a flood of it is counted.

use std::time::Duration;

use chrono::TimeDelta;
use countersign::app::App;
use countersign::audit::{Door, Source};
use countersign::auth::accounts::Changed;
use countersign::error::Error;
use countersign::gateway::Arguments;
use countersign::store::agents::Agent as Stored;
use countersign::store::events::{self, Filter};
use countersign::store::people::Role;
use reqwest::StatusCode;
use serde_json::{Map, Value, json};

use crate::support::program::Program;
use crate::support::rival::until_writing;
use crate::support::rows::Rows;
use crate::support::run::Fixture;
use crate::support::settings::left_out;
use crate::support::shop::refund;
use crate::support::{Agent, Backend, Database, Person, TestApp, backends};

backends!(a_message_that_is_none_is_an_event);
async fn a_message_that_is_none_is_an_event(app: &TestApp) {
    let twice = r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#;
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    let untyped = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#;
    for (index, message) in [twice, batch, untyped, "{"].into_iter().enumerate() {
        let sender = app.add_agent(&format!("sender {index}"), &["orders:read"]).await;
        let before = app.rows().await;
        assert_eq!(send(&sender, message).await, StatusCode::BAD_REQUEST, "{message}");
        assert_eq!(app.grown_since(&before).await, [("events", 1)], "{message}");
        let event = app.last_event().await;
        let said = json!([event["event"], event["outcome"], event["denied"], event["door"]]);
        assert_eq!(said, json!(["message", "invalid_params", true, "mcp_http"]), "{message}");
        assert_eq!(event["actor"]["kind"], "agent", "{message}");
    }

    let before = app.rows().await;
    for _ in 0..40 {
        send(&app.agent, twice).await;
    }
    app.only_denials_since(&before, 1).await;
    assert_eq!(told(app, "message", "denials").await, 4 + 40);
}

backends!(a_decision_that_never_reaches_the_gate_is_an_event);
async fn a_decision_that_never_reaches_the_gate_is_an_event(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let id = app.ask("request_refund", refund("#1001", 100)).await;
    let (viewer, approver) = (app.person(Role::Viewer).await, app.person(Role::Approver).await);
    let (looking, deciding) = (app.session(viewer).await, app.session(approver).await);
    let post = |person: &Person, decision: &str, body: Value| {
        let url = format!("{}/actions/{id}/{decision}", person.api);
        person.http.post(url).bearer_auth(&person.api_token).json(&body).send()
    };
    let page = |decision: &str| format!("/actions/{id}/{decision}");
    let is_event = async |before: &Rows, event: &str, code: &str, door: &str, id: Option<&str>| {
        assert_eq!(app.grown_since(before).await, [("events", 1)], "{event} {code} {door}");
        let told = app.last_event().await;
        let said = json!([told["event"], told["outcome"], told["denied"], told["door"], told["action_id"]]);
        assert_eq!(said, json!([event, code, true, door, id]));
    };

    let mut before = app.rows().await;
    for _ in 0..30 {
        assert_eq!(post(viewer, "approve", json!({})).await.unwrap().status(), StatusCode::FORBIDDEN);
    }
    is_event(&before, "approval", "forbidden", "rest", Some(&id)).await;
    assert_eq!(told(app, "approval", "denials").await, 30);

    before = app.rows().await;
    assert_eq!(looking.submit(&page("reject"), &[]).await.status, StatusCode::FORBIDDEN);
    is_event(&before, "rejection", "forbidden", "browser", Some(&id)).await;
    before = app.rows().await;
    assert_eq!(deciding.submit("/pause", &[("target", "all")]).await.status, StatusCode::FORBIDDEN);
    is_event(&before, "pause", "forbidden", "browser", None).await;

    let mut misled = deciding;
    misled.form_token = "0".repeat(64);
    before = app.rows().await;
    assert_eq!(misled.submit(&page("approve"), &[]).await.status, StatusCode::FORBIDDEN);
    is_event(&before, "approval", "forbidden", "browser", Some(&id)).await;

    before = app.rows().await;
    for malformed in [json!([]), json!({ "digest": 1 }), json!({ "digest": "x", "note": "n".repeat(1001) })] {
        let status = post(approver, "approve", malformed).await.unwrap().status();
        assert_eq!(status, StatusCode::BAD_REQUEST);
    }
    is_event(&before, "approval", "invalid_params", "rest", Some(&id)).await;
    before = app.rows().await;
    let status = post(approver, "reject", json!({ "digest": "x", "reason": " " })).await.unwrap().status();
    assert_eq!(status, StatusCode::BAD_REQUEST);
    is_event(&before, "rejection", "invalid_params", "rest", Some(&id)).await;
}

backends!(denials_that_are_counted_name_their_door);
async fn denials_that_are_counted_name_their_door(app: &TestApp) {
    let session = app.session(app.person(Role::Approver).await).await;
    for form in ["/pause", "/resume", "/deliveries/0199/retry"] {
        for _ in 0..3 {
            assert_eq!(session.submit(form, &[("target", "all")]).await.status, StatusCode::FORBIDDEN);
        }
    }
    for event in ["pause", "resume", "redelivery"] {
        assert_eq!(told(app, event, "denials").await, 3, "{event}");
    }
    let counted = app.rival().count("audit_events", "event = 'denials'");
    let by_door = app
        .rival()
        .count("audit_events", r#"event = 'denials' AND body LIKE '%"door":"browser"%'"#);
    assert!(counted >= 3 && by_door == counted, "{by_door} of {counted}");
}

backends!(a_key_that_is_not_accepted_is_an_event);
async fn a_key_that_is_not_accepted_is_an_event(app: &TestApp) {
    let revoked = app.add_agent("revoked", &["orders:read"]).await;
    let Ok(Changed::Now(Stored { id, .. })) = app.inner.auth.revoke("revoked").await else {
        panic!("it was not revoked")
    };
    let event = refused(app, &revoked).await;
    assert_eq!(event["actor"], json!({ "kind": "agent", "id": id }));
    let said = json!([event["event"], event["outcome"], event["denied"], event["door"], event["address"]]);
    assert_eq!(said, json!(["authentication", "unauthenticated", true, "mcp_http", "127.0.0.1"]));

    let stranger = Agent {
        key: "no key of ours".to_owned(),
        ..app.agent.clone()
    };
    assert_eq!(refused(app, &stranger).await["actor"], json!({ "kind": "stranger" }));

    let viewer = app.person(Role::Viewer).await.clone();
    let reset = app.inner.auth.reset_password(&viewer.email).await.unwrap();
    assert_eq!(viewer.get("/actions").await.status, StatusCode::UNAUTHORIZED);
    let event = app.last_event().await;
    assert_eq!(event["actor"], json!({ "kind": "person", "id": reset.person.id }));
    assert_eq!(json!([event["event"], event["door"]]), json!(["authentication", "rest"]));
}

backends!(guessing_leaves_few_rows_and_a_true_count);
async fn guessing_leaves_few_rows_and_a_true_count(app: &TestApp) {
    let (mut agent, mut person) = (app.agent.clone(), app.person(Role::Viewer).await.clone());
    let before = app.rows().await;
    for guess in 0..60 {
        agent.key = format!("guess {guess}");
        assert_eq!(send(&agent, "{}").await, StatusCode::UNAUTHORIZED);
        person.api_token = format!("guess {guess}");
        assert_eq!(person.get("/actions").await.status, StatusCode::UNAUTHORIZED);
    }
    app.only_denials_since(&before, 2).await;
    assert_eq!(told(app, "authentication", "failed_sign_ins").await, 120);
}

backends!(none_is_answered_before_one_of_its_kind_is_in_the_log);
async fn none_is_answered_before_one_of_its_kind_is_in_the_log(app: &TestApp) {
    let process = app.unserved();
    let sent = |count| (0..count).map(|_| tokio::spawn(is_refused(process.clone()))).collect::<Vec<_>>();
    let mut rival = app.rival();
    rival.begin(app.database.backend.break_the_log());
    let mut under_way = sent(5);
    until_writing(&process.db).await;
    rival.run("COMMIT");
    under_way.extend(sent(1));
    for refused in under_way {
        assert!(!refused.await.unwrap(), "it is in no log");
    }
    process.auth.write_down_failures().await.unwrap();
    assert!(!is_refused(process.clone()).await, "it is in no log");

    rival.run(app.database.backend.mend_the_log());
    for refused in sent(5) {
        assert!(refused.await.unwrap());
    }
    process.auth.write_down_failures().await.unwrap();
    assert_eq!(told(app, "authentication", "failed_sign_ins").await, 5);
}

backends!(what_was_counted_is_counted_after_a_time_when_nothing_could_be_written);
async fn what_was_counted_is_counted_after_a_time_when_nothing_could_be_written(app: &TestApp) {
    let process = app.unserved();
    for _ in 0..5 {
        assert!(is_refused(process.clone()).await);
    }
    let (mut rival, backend) = (app.rival(), app.database.backend);
    rival.run("ALTER TABLE floods RENAME TO elsewhere");
    process.auth.write_down_failures().await.unwrap_err();
    rival.run("ALTER TABLE elsewhere RENAME TO floods");
    // None is fresh any more: the next one has to be an event first.
    app.inner.clock.shift(TimeDelta::minutes(2));
    process.clock.shift(TimeDelta::minutes(2));
    rival.run(backend.break_the_log());
    assert!(!is_refused(process.clone()).await, "it is in no log");
    rival.run(backend.mend_the_log());
    process.auth.write_down_failures().await.unwrap();
    assert_eq!(told(app, "authentication", "failed_sign_ins").await, 5);
}

backends!(what_is_being_counted_is_not_lost_with_whoever_asked);
async fn what_is_being_counted_is_not_lost_with_whoever_asked(app: &TestApp) {
    let process = app.unserved();
    for _ in 0..5 {
        assert!(is_refused(process.clone()).await);
    }
    let mut rival = app.rival();
    rival.begin("UPDATE floods SET denials = denials");
    let (chore, last) = (process.auth.clone(), process.auth.clone());
    let chore = tokio::spawn(async move { chore.write_down_failures().await });
    until_writing(&process.db).await;
    chore.abort();
    let last = tokio::spawn(async move { last.write_down_the_last_failures().await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!last.is_finished(), "the counts are still under way");
    rival.run("COMMIT");
    last.await.unwrap();
    assert_eq!(rival.number("SELECT CAST(sum(denials) AS BIGINT) AS n FROM floods"), 5);
}

backends!(an_agents_flood_goes_on_into_the_next_minute);
async fn an_agents_flood_goes_on_into_the_next_minute(app: &TestApp) {
    let process = app.unserved();
    for _ in 0..3 {
        assert_eq!(app.reader.code_in(&process, "request_refund").await, "scope_missing");
    }
    process.auth.write_down_failures().await.unwrap();
    assert_eq!(app.reader.code_in(&process, "request_refund").await, "scope_missing");
    assert_eq!(app.reader.code_in(&process, "request_stock_adjustment").await, "scope_missing");
    process.clock.shift(TimeDelta::minutes(2));
    process.auth.write_down_failures().await.unwrap();
    let event = app.last_event().await;
    assert_eq!(
        json!([event["event"], event["tool"], event["address"]]),
        json!(["tool_call", "request_stock_adjustment", "192.0.2.7"]),
        "{event}"
    );
}

backends!(one_client_has_one_address);
async fn one_client_has_one_address(backend: &Backend) {
    let proxies = Some("127.0.0.0/8".parse().unwrap());
    let app = TestApp::with(*backend, |config| config.trusted_proxies = proxies).await;
    for (said, expected) in [
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::7", "2001:db8::7"),
        ("192.0.2.7, ::ffff:127.0.0.9", "192.0.2.7"),
    ] {
        app.inner.clock.shift(chrono::TimeDelta::minutes(2));
        app.inner.auth.write_down_failures().await.unwrap();
        let post = app.agent.http.post(&app.agent.endpoint).bearer_auth("no key of ours");
        post.header("x-forwarded-for", said).body("{}").send().await.unwrap();
        assert_eq!(app.last_event().await["address"], expected, "{said}");
    }

    // Of one /64 a client has every address: its failures are of one kind.
    let before = app.rows().await;
    for host in 1..=20 {
        let post = app.agent.http.post(&app.agent.endpoint).bearer_auth("no key of ours");
        post.header("x-forwarded-for", format!("2001:db8:0:1::{host}"))
            .body("{}")
            .send()
            .await
            .unwrap();
    }
    app.only_denials_since(&before, 1).await;
    app.tear_down().await;
}

backends!(a_server_on_both_protocols_tells_clients_by_their_own);
async fn a_server_on_both_protocols_tells_clients_by_their_own(database: &Database) {
    let Ok(listener) = std::net::TcpListener::bind("[::]:0") else {
        return left_out("both protocols on one address", "this machine has no IPv6");
    };
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let program = Program::on(database).with("COUNTERSIGN_PUBLIC_URL", &format!("http://127.0.0.1:{port}"));
    let served = program.serve(&["serve", "--listen", &format!("[::]:{port}")]);
    let http = crate::support::http::client();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let refused = http.post(&url).bearer_auth("no key of ours").body("{}").send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    drop(served);
    let log = program.run(&["audit", "export"]).ok();
    assert!(log.contains(r#""address":"127.0.0.1""#), "{log}");
}

/// The newest event, after the agent's key was refused.
async fn refused(app: &TestApp, agent: &Agent) -> Value {
    let before = app.rows().await;
    assert_eq!(send(agent, "{}").await, StatusCode::UNAUTHORIZED);
    assert_eq!(app.grown_since(&before).await, [("events", 1)]);
    app.last_event().await
}

async fn send(agent: &Agent, message: &'static str) -> StatusCode {
    let post = agent.http.post(&agent.endpoint).bearer_auth(&agent.key);
    post.header("content-type", "application/json")
        .body(message)
        .send()
        .await
        .unwrap()
        .status()
}

/// Whether a key that nobody has is refused, and not only found too much to ask just now.
async fn is_refused(process: App) -> bool {
    matches!(process.auth.agent_key("no key of ours", &from_outside()).await, Err(Error::Denied(_)))
}

fn from_outside() -> Source {
    Source {
        door: Door::Http,
        address: Some("192.0.2.7".to_owned()),
    }
}

impl Agent {
    /// The code that a call without arguments gets in a process.
    pub async fn code_in(&self, process: &App, tool: &str) -> String {
        let caller = process.gateway.authenticate(&self.key, &from_outside()).await.unwrap();
        let answer = process.gateway.call(&caller, tool, Arguments::Read(Map::new())).await;
        let answer = answer.unwrap_or_else(|_| panic!("there is no {tool}"));
        answer.body["error"]["code"].as_str().unwrap().to_owned()
    }
}

/// How many refusals the log tells of, each on its own or counted, when the minute is over.
pub async fn told(app: &TestApp, event: &str, counted: &str) -> i64 {
    app.inner.auth.write_down_failures().await.unwrap();
    app.inner.clock.shift(chrono::TimeDelta::minutes(2));
    app.inner.gate.sweep().await.unwrap();
    let everything = Filter {
        limit: 10_000,
        ..Filter::default()
    };
    let events = app.inner.db.read(move |conn| events::page(conn, &everything)).await.unwrap();
    let bodies = events.iter().map(|event| serde_json::from_str::<Value>(&event.body).unwrap());
    let told = bodies.filter(|body| body["denied"] == true).map(|body| match body["event"].as_str() {
        Some(name) if name == event => 1,
        Some(name) if name == counted && body["of"] == event => {
            body["denials_after_the_first"].as_i64().unwrap()
        }
        _ => 0,
    });
    told.sum()
}
