//! What keeps a retry, a second agent and a second process from doing a thing twice.

mod same_write;
mod versions;
mod windows;

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta};
use countersign::config::Rate;
use countersign::error::Error;
use countersign::store::people::Role;
use serde_json::json;

use crate::support::failpoints::Failpoints;
use crate::support::program::Program;
use crate::support::run::Fixture;
use crate::support::shop::{id, refund, with_key};
use crate::support::{Backend, TestApp, backends};

const WRITING: [&str; 2] = ["orders:read", "orders:write"];

backends!(two_agents_one_write);
async fn two_agents_one_write(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let other = app.add_agent("other", &WRITING).await;
    let (first, second) = (
        app.agent.call("request_refund", refund("#1001", 100)).await.ok(),
        other.call("request_refund", refund("#1001", 100)).await.ok(),
    );
    assert_ne!(id(&first), id(&second));
    assert_eq!(second["disposition"], "new", "no hint that the other exists: {second}");

    let approver = app.person(Role::Approver).await;
    for asked in [&first, &second] {
        let seen = approver.action(id(asked)).await;
        let blind = json!({ "digest": seen["digest"] });
        let reply = approver.post(&format!("/actions/{}/approve", id(asked)), blind).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (409, "related_actions"));
    }
    assert_eq!(app.order_now("#1001").await.refunded_minor, 0);

    assert_eq!(approver.approve(id(&first)).await.ok()["status"], "executed");
    assert_eq!(approver.approve(id(&second)).await.ok()["status"], "executed");
    assert_eq!(app.order_now("#1001").await.refunded_minor, 200);
}

backends!(one_budget_for_two_servers);
async fn one_budget_for_two_servers(backend: &Backend) {
    let slow: Rate = "1/h:4".parse().unwrap();
    let app = TestApp::with(*backend, |config| config.write_rate = slow).await;
    app.order("#1001", 50_000).await;
    let second = app.another_server_with(|config| config.write_rate = slow);
    let there = app.agent.at(&second.url);

    for amount in 1..=2 {
        app.agent.call("request_refund", refund("#1001", amount)).await.ok();
        there.call("request_refund", refund("#1001", 10 + amount)).await.ok();
    }
    for agent in [&app.agent, &there] {
        let refused = agent.call("request_refund", refund("#1001", 99)).await;
        assert_eq!(refused.code(), "rate_limited");
        assert!(refused.body["error"]["retry_after_seconds"].as_u64().unwrap() > 1);
        assert_eq!(
            agent.call("request_refund", refund("#1001", 1)).await.ok()["disposition"],
            "joined",
            "a join takes no token"
        );
    }
    drop(there);
    second.stop().await;
    app.tear_down().await;
}

backends!(a_decision_wakes_who_waits);
async fn a_decision_wakes_who_waits(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let asked = app.agent.call("request_refund", refund("#1001", 100)).await.ok();
    let second = app.another_server();
    let there = app.agent.at(&second.url);
    let wait = json!({ "action_id": id(&asked), "wait_seconds": 50 });
    let begun = Instant::now();
    let waiting = [app.agent.calling("get_action_status", &wait), there.calling("get_action_status", &wait)];
    let waiting = waiting.map(tokio::spawn);

    for waiters in [&app.inner.gate.waiters, &second.app.gate.waiters] {
        while waiters.waiting() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    app.person(Role::Approver).await.approve(id(&asked)).await.ok();
    for answer in waiting {
        assert_eq!(answer.await.unwrap().ok()["status"], "executed");
    }
    // Otherwise they would have been answered when the fifty seconds were over.
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    drop(there);
    second.stop().await;
}

backends!(pruning_from_the_command_line_stays_out_of_the_retry_window);
async fn pruning_from_the_command_line_stays_out_of_the_retry_window(backend: &Backend) {
    let app = TestApp::set_up(*backend).await;
    app.order("#1001", 50_000).await;
    let asked = app.ask("request_refund", refund("#1001", 100)).await;
    app.person(Role::Approver).await.approve(&asked).await.ok();
    let (database, failpoints) = (app.leave().await, Failpoints::new());
    let program = Program::on(&database).with("FAILPOINTS", failpoints.folder());
    let prune = |age| program.run(&["prune", "--older-than", age]);

    let refused = prune("24h").sentence();
    assert!(refused.contains("of the last 24 h."), "{refused}");
    assert_eq!(prune("2d").ok().trim(), "Pruned 0 actions.");
    failpoints.set_clock(TimeDelta::days(3).num_microseconds().unwrap());
    assert_eq!(prune("2d").ok().trim(), "Pruned 1 action.");
    assert_eq!(prune("2d").ok().trim(), "Pruned 0 actions.");
}

backends!(what_is_pruned_still_answers);
async fn what_is_pruned_still_answers(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let mut arguments = with_key(refund("#1001", 100), "refund of the first of May");
    let asked = app.agent.call("request_refund", arguments.clone()).await.ok();
    app.person(Role::Approver).await.approve(id(&asked)).await.ok();

    let too_close = app.inner.gate.prune(TimeDelta::hours(24)).await;
    assert!(matches!(too_close, Err(Error::Setup(_))), "{too_close:?}");
    assert_eq!(app.inner.gate.prune(TimeDelta::days(30)).await.unwrap(), 0);
    app.inner.clock.shift(TimeDelta::days(31));
    assert_eq!(app.inner.gate.prune(TimeDelta::days(30)).await.unwrap(), 1);

    let again = app.agent.call("request_refund", arguments.clone()).await.ok();
    assert_eq!((id(&again), &again["disposition"]), (id(&asked), &json!("replayed")));
    assert_eq!(again["result"]["refunded_minor"], 100);
    let dropped = DateTime::parse_from_rfc3339(again["dropped"].as_str().unwrap()).unwrap();
    let approver = app.person(Role::Approver).await;
    let seen = approver.action(id(&asked)).await;
    assert_eq!(seen["dropped"], again["dropped"]);
    assert!(["reason", "params", "preview"].iter().all(|name| seen.get(name).is_none()), "{seen}");
    let page = app.session(approver).await.get(&format!("/actions/{}", id(&asked))).await.html;
    let told = format!("Dropped on {}.", dropped.format("%-d %b %Y"));
    assert_eq!(page.matches(&told).count(), 3, "{page}");
    assert!(!page.contains("Text from the agent"), "{page}");
    arguments["amount_minor"] = json!(101);
    let reused = app.agent.call("request_refund", arguments).await;
    assert_eq!(reused.code(), "idempotency_key_reused");
    assert_eq!(app.order_now("#1001").await.refunded_minor, 100);
}
