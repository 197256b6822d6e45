//! `serve` and `mcp`.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::support::client::{Client, Era};
use crate::support::program::{Program, is_held};
use crate::support::{Backend, Database, backends};

pub const SERVE: &[&str] = &["serve", "--listen", "127.0.0.1:0"];

async fn status(url: String) -> u16 {
    reqwest::get(url).await.unwrap().status().as_u16()
}

backends!(serving_migrates_first_and_stops_when_asked);
async fn serving_migrates_first_and_stops_when_asked(migrated: &Database) {
    let empty = migrated.backend.empty_database();
    let program = Program::on(&empty);
    let refused = program.run(&["serve", "--listen", "127.0.0.1:0", "--no-migrate", "--log", "error"]);
    assert!(refused.sentence().contains("countersign migrate"));
    for signal in ["TERM", "INT"] {
        let served = program.serve(SERVE);
        assert_eq!(status(format!("{}/healthz", served.url)).await, 200);
        assert_eq!(status(format!("{}/readyz", served.url)).await, 200);
        assert!(
            program
                .run(&["check", "--listen", &served.url["http://".len()..]])
                .ok()
                .contains("running already")
        );
        let (code, took) = served.stop(signal);
        assert_eq!(code, Some(0), "SIG{signal}");
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
    let served = program.serve(&["serve", "--listen", "127.0.0.1:0", "--no-migrate"]);
    assert_eq!(status(format!("{}/readyz", served.url)).await, 200);
}

#[test]
fn whatever_serves_a_file_holds_it() {
    let database = Backend::Sqlite.empty_database();
    let (program, file) = (Program::on(&database), database.url.strip_prefix("sqlite://").unwrap());
    program.run(&["migrate"]).ok();
    assert!(!is_held(Path::new(file)));
    for how in [SERVE, &[SERVE, &["--no-migrate"]].concat()] {
        let served = program.serve(how);
        assert!(is_held(Path::new(file)), "{how:?}");
        served.stop("TERM");
    }
}

backends!(an_agent_gets_the_same_straight_and_through_the_bridge);
async fn an_agent_gets_the_same_straight_and_through_the_bridge(database: &Database) {
    let program = Program::on(database);
    program.run(&["seed"]).ok();
    let agent = program.run(&["agent", "add", "--name", "a", "--scope", "orders:read", "--json"]).json();
    let key = agent["key"].as_str().unwrap();
    let served = program.serve(SERVE);
    for era in Era::ALL {
        let straight = Program::on(database).with("COUNTERSIGN_AGENT_KEY", key);
        // A bridge needs no database, nor the server's secret.
        let bridge = Program::bare().with("COUNTERSIGN_AGENT_KEY", key).with("COUNTERSIGN_URL", &served.url);
        let bridge = bridge.with("DATABASE_URL", "mysql://localhost/other");
        for program in [&straight, &bridge] {
            let client = Client::over_stdio(program.command(&["mcp"]).into(), era).await;
            let order = client.call("get_order", json!({ "order_id": "1044" })).await.ok();
            assert_eq!(order["total_text"], "INR 17,758.28", "{era:?}");
        }
    }
}

#[test]
fn mcp_without_a_key_or_with_a_wrong_one_says_so() {
    let folder = Program::bare();
    assert!(folder.run(&["mcp"]).sentence().starts_with("COUNTERSIGN_AGENT_KEY"));
    folder.run(&["migrate"]).ok();
    let said = folder.run(&["mcp", "--agent-key", "cs_a_wrong"]);
    assert_eq!(said.out, "", "standard output is the protocol");
    assert!(said.sentence().starts_with("COUNTERSIGN_AGENT_KEY is not accepted"));
}
