//! `demo`, through the built program: what a person who tries it out finds, the first time and the second.

mod killed;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use killed::shown;
use serde_json::{Value, json};

use crate::support::program::{Program, Served, is_held};
use crate::support::{Agent, Post, http, runtime};

/// A running demo and its `demo.json`.
struct Demo {
    served: Served,
    sheet: Value,
    http: reqwest::Client,
}

impl Demo {
    fn start(program: &Program) -> Self {
        let served = program.serve(&["demo", "--listen", "127.0.0.1:0", "--data-dir", "shop"]);
        let sheet = serde_json::from_str(&fs::read_to_string(path(program)).unwrap()).unwrap();
        http::choose_cryptography();
        let http = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
        Self { served, sheet, http }
    }

    fn person(&self, role: &str) -> &Value {
        self.sheet["people"]
            .as_array()
            .unwrap()
            .iter()
            .find(|person| person["role"] == role)
            .unwrap()
    }

    fn agent(&self, name: &str) -> Agent {
        let agents = self.sheet["agents"].as_array().unwrap();
        let agent = agents.iter().find(|agent| agent["name"] == name).unwrap();
        Agent {
            elsewhere: None,
            stdio: None,
            name: name.into(),
            key: agent["key"].as_str().unwrap().into(),
            endpoint: self.sheet["mcp_url"].as_str().unwrap().into(),
            http: self.http.clone(),
        }
    }

    async fn rest(&self, role: &str, path: &str) -> Value {
        let url = format!("{}{path}", self.sheet["api_url"].as_str().unwrap());
        let token = self.person(role)["api_token"].as_str().unwrap();
        let response = self.http.get(url).bearer_auth(token).send().await.unwrap();
        assert!(response.status().is_success(), "{role} {path}: {}", response.status());
        response.json().await.unwrap()
    }

    async fn actions(&self) -> Vec<Value> {
        self.rest("viewer", "/actions?limit=50").await["actions"].as_array().unwrap().clone()
    }
}

fn path(program: &Program) -> PathBuf {
    program.folder.path().join("shop/demo.json")
}

fn with_status<'a>(actions: &'a [Value], status: &str) -> Vec<&'a Value> {
    actions.iter().filter(|action| action["status"] == status).collect()
}

#[test]
fn a_first_start_has_something_to_show_on_every_page() {
    runtime().block_on(async {
        // What a shell may hold besides, and what a demo must not touch or be stopped by.
        let program = Program::bare()
            .with("DATABASE_URL", "postgres://nobody@127.0.0.1:1/nothing")
            .with("COUNTERSIGN_RETRY_WINDOW", "0")
            .with("COUNTERSIGN_WRITE_RATE", "1/h:1")
            .with("COUNTERSIGN_MAX_STOCK_DELTA", "1");
        let demo = Demo::start(&program);
        assert_eq!(demo.sheet["dashboard_url"], demo.served.url.as_str());
        assert_eq!(fs::metadata(path(&program)).unwrap().permissions().mode() & 0o777, 0o600);

        let actions = demo.actions().await;
        let seen: BTreeSet<_> = actions.iter().map(|action| action["status"].as_str().unwrap()).collect();
        let all = ["executed", "expired", "failed", "pending", "rejected", "withdrawn"];
        assert_eq!(seen, BTreeSet::from(all));
        let kinds: BTreeSet<_> = actions.iter().map(|action| action["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, BTreeSet::from(["order_cancellation", "refund", "stock_adjustment"]));

        let pending = with_status(&actions, "pending");
        assert!(pending.len() >= 4, "{}", pending.len());
        let mut related = 0;
        for action in &pending {
            let full = demo
                .rest("approver", &format!("/actions/{}", action["action_id"].as_str().unwrap()))
                .await;
            related +=
                usize::from(full["related"].as_array().unwrap().iter().any(|one| one["status"] == "pending"));
        }
        assert!(related >= 2, "a pair on one record");
        let first = pending
            .iter()
            .find(|action| action["summary"] == "Refund INR 8,999.00 on order #1044")
            .unwrap();
        let full = demo.rest("owner", &format!("/actions/{}", first["action_id"].as_str().unwrap())).await;
        assert!(full["reason"].as_str().unwrap().contains('\u{202e}'), "{full}");

        let log = demo.rest("auditor", "/audit?limit=50").await.to_string();
        for outcome in ["joined", "scope_missing", "rejected", "withdrawn", "expired"] {
            assert!(log.contains(&format!("\"outcome\":\"{outcome}\"")), "{outcome} in {log}");
        }
    });
}

#[test]
fn its_sign_ins_and_keys_work_and_its_folder_is_private() {
    runtime().block_on(async {
        let program = Program::bare();
        let demo = Demo::start(&program);
        for role in ["owner", "approver", "auditor", "viewer"] {
            assert_eq!(demo.person(role)["email"], format!("{role}@example.com"));
            demo.rest(role, "/actions").await;
        }
        let (reader, support) = (demo.agent("read-only-agent"), demo.agent("support-agent"));
        let scopes = |agent: usize| demo.sheet["agents"][agent]["scopes"].clone();
        assert_eq!(scopes(0), json!(["inventory:read", "orders:read"]));
        assert_eq!(scopes(1).as_array().unwrap().len(), 4);
        assert_eq!(support.tools().await.len(), 10);
        let refund = json!({ "order_id": "1044", "amount_minor": 899_900, "currency": "INR", "reason": "Asked again" });
        assert_eq!(reader.call("request_refund", refund.clone()).await.code(), "scope_missing");
        let joined = support.call("request_refund", refund).await.ok();
        assert_eq!(joined["disposition"], "joined");
        let review = joined["review_url"].as_str().unwrap();
        assert!(review.starts_with(&demo.served.url), "{review}");
        for entry in fs::read_dir(program.folder.path().join("shop")).unwrap() {
            let entry = entry.unwrap();
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o077, 0, "{:?}", entry.path());
        }
    });
}

#[test]
fn its_people_get_no_mail() {
    runtime().block_on(async {
        let post = Post::open();
        let program = Program::bare().with("SMTP_URL", &post.url);
        let _demo = Demo::start(&program);
        // Requests wait already, and workers look once a second.
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(post.mails().len(), 0);
    });
}

#[test]
fn a_second_start_keeps_what_is_there_and_asks_again_when_nothing_waits() {
    runtime().block_on(async {
        let program = Program::bare().with("COUNTERSIGN_ACTION_TTL", "5s");
        let demo = Demo::start(&program);
        let file = program.folder.path().join("shop/countersign.db");
        assert!(is_held(&file));
        let (first, people, agents) =
            (demo.actions().await, demo.sheet["people"].clone(), demo.sheet["agents"].clone());
        assert_eq!(demo.served.stop("TERM").0, Some(0));

        tokio::time::sleep(Duration::from_secs(5)).await;
        let program = program.with("COUNTERSIGN_ACTION_TTL", "30m");
        let demo = Demo::start(&program);
        assert!(is_held(&file), "where it asked again, too");
        assert_eq!((&demo.sheet["people"], &demo.sheet["agents"]), (&people, &agents));
        assert_eq!(demo.sheet["dashboard_url"], demo.served.url.as_str(), "the port is another");
        let second = demo.actions().await;
        let again = with_status(&second, "pending");
        assert_eq!(again.len(), with_status(&first, "pending").len());
        assert!(again.iter().all(|action| action["attempt"] == 2), "{again:?}");
        assert_eq!(second.len(), first.len() + again.len());
        assert_eq!(demo.served.stop("TERM").0, Some(0));

        let demo = Demo::start(&program);
        assert_eq!(demo.actions().await.len(), second.len(), "something waits, so nothing is asked");
    });
}

#[test]
fn without_its_file_the_sign_ins_are_made_anew() {
    runtime().block_on(async {
        let program = Program::bare();
        let demo = Demo::start(&program);
        let (old, actions) = (demo.agent("support-agent"), demo.actions().await.len());
        drop(demo);
        fs::remove_file(path(&program)).unwrap();
        let demo = Demo::start(&program);
        assert_ne!(demo.agent("support-agent").key, old.key);
        assert_eq!(demo.actions().await.len(), actions);

        fs::write(path(&program), "{").unwrap();
        let refused = program.run(&["demo", "--listen", "127.0.0.1:0", "--data-dir", "shop"]);
        assert!(refused.sentence().contains("demo.json"));
    });
}

#[test]
fn a_sign_in_that_no_longer_works_is_not_handed_out_again() {
    runtime().block_on(async {
        let program = Program::bare().with("DATABASE_URL", "sqlite://shop/countersign.db");
        let demo = Demo::start(&program);
        let old = demo.agent("support-agent").key;
        drop(demo);
        fs::remove_file(program.folder.path().join("shop/countersign.db.secret")).unwrap();
        program.run(&["migrate", "--new-secret"]).ok();

        let demo = Demo::start(&program);
        assert_ne!(demo.agent("support-agent").key, old);
        assert_eq!(demo.agent("support-agent").tools().await.len(), 10);
        for role in ["owner", "approver", "auditor", "viewer"] {
            demo.rest(role, "/actions").await;
        }
        drop(demo);
        let rotated = program.run(&["agent", "rotate", "--name", "support-agent", "--json"]).json();
        program.run(&["person", "reset-password", "--email", "viewer@example.com"]).ok();

        for _ in 0..2 {
            let demo = Demo::start(&program);
            let mut support = demo.agent("support-agent");
            assert_eq!(support.key, "(no longer valid)");
            support.key = rotated["key"].as_str().unwrap().to_owned();
            assert_eq!(support.tools().await.len(), 10, "it is left as it is");
            let viewer = demo.person("viewer");
            for what in ["password", "api_token"] {
                assert_eq!(viewer[what], "(no longer valid)");
            }
            demo.rest("owner", "/actions").await;
        }
    });
}

#[test]
fn a_database_that_is_put_back_is_kept() {
    runtime().block_on(async {
        let program = Program::bare();
        let demo = Demo::start(&program);
        let actions = shown(&demo).await;
        demo.served.stop("KILL");
        let (file, moved) =
            (program.folder.path().join("shop/countersign.db"), program.folder.path().join("moved.db"));
        fs::rename(&file, &moved).unwrap();
        let refused = program.try_to_serve(&["demo", "--listen", "127.0.0.1:0", "--data-dir", "shop"]);
        assert!(refused.is_err_and(|printed| printed.contains("-wal")), "its log would be lost");
        fs::rename(&moved, &file).unwrap();
        assert_eq!(shown(&Demo::start(&program)).await, actions);
    });
}

#[test]
fn an_installation_is_no_demo() {
    let program = Program::bare().with("DATABASE_URL", "sqlite://shop/countersign.db");
    fs::create_dir(program.folder.path().join("shop")).unwrap();
    program.run(&["migrate"]).ok();
    program.run(&["person", "add", "--email", "you@example.com", "--role", "owner"]).ok();
    let key = ["agent", "add", "--name", "support-agent", "--scope", "orders:read"];
    program.run(&key).ok();
    let before = program.run(&["audit", "export"]).ok();
    let demo = ["demo", "--listen", "127.0.0.1:0", "--data-dir", "shop"];
    let refused = program.try_to_serve(&demo);
    assert!(refused.is_err_and(|printed| printed.contains("is not a demo's database")));
    assert_eq!(program.run(&["audit", "export"]).ok(), before);
    assert!(!path(&program).exists());
}

#[test]
fn an_agent_that_is_revoked_keeps_no_demo_from_starting() {
    runtime().block_on(async {
        let program = Program::bare().with("DATABASE_URL", "sqlite://shop/countersign.db");
        drop(Demo::start(&program));
        program.run(&["agent", "revoke", "--name", "read-only-agent"]).ok();
        fs::remove_file(path(&program)).unwrap();
        let demo = Demo::start(&program);
        assert_eq!(demo.agent("read-only-agent").key, "(no longer valid)");
        assert_eq!(demo.agent("support-agent").tools().await.len(), 10);
    });
}

#[test]
fn at_every_address_it_is_reached_at_this_machine() {
    let program = Program::bare();
    let served = program.serve(&["demo", "--listen", "0.0.0.0:0", "--data-dir", "shop"]);
    let sheet: Value = serde_json::from_str(&fs::read_to_string(path(&program)).unwrap()).unwrap();
    let (_, port) = served.url.rsplit_once(':').unwrap();
    assert_eq!(sheet["dashboard_url"], format!("http://localhost:{port}"));
    assert_eq!(sheet["mcp_url"], format!("http://localhost:{port}/mcp"));
    served.stop("TERM");
}
