//! `GET /api/v1/audit`.

use chrono::{TimeDelta, Utc};
use countersign::store::people::Role;
use countersign::workflow::PauseTarget;
use serde_json::{Value, json};

use super::refund;
use crate::support::history::busy;
use crate::support::{Person, TestApp, backends};

backends!(changes_of_accounts_say_whose);
async fn changes_of_accounts_say_whose(app: &TestApp) {
    let (owner, viewer) = (app.person(Role::Owner).await, app.person(Role::Viewer).await);
    let (auth, gate) = (&app.inner.auth, &app.inner.gate);
    auth.set_role(&viewer.email, Role::Auditor).await.unwrap();
    let agent = auth.rotate("reader").await.unwrap().agent;
    gate.set_pause_as_operator(PauseTarget::Agent(agent.id), true).await.unwrap();

    let log = owner.get("/audit?limit=3").await.ok();
    let about: Vec<_> = log["events"].as_array().unwrap().iter().map(|event| &event["about"]).collect();
    assert_eq!(about, ["reader", "reader", &viewer.email]);
    let page = app.session(owner).await.get("/audit?category=accounts").await.html;
    assert!(page.contains(&format!("<td class=\"date\"><bdi>{}</bdi></td>", viewer.email)), "{page}");
}

/// The events of every page, in the order in which they come.
async fn on_all_pages(auditor: &Person, filter: &str) -> Vec<Value> {
    let (mut events, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = auditor.get(&format!("/audit?{filter}&cursor={cursor}")).await.ok();
        events.extend(page["events"].as_array().unwrap().clone());
        let Some(next) = page.get("next_cursor") else { return events };
        next.as_str().unwrap().clone_into(&mut cursor);
    }
}

backends!(the_log_is_read_page_by_page_and_by_filter);
async fn the_log_is_read_page_by_page_and_by_filter(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let id = refund(app, "#1001", 100).await;
    app.reader.call("request_refund", json!({})).await;
    let approver = app.person(Role::Approver).await;
    approver.approve(&id).await.ok();
    let auditor = app.person(Role::Auditor).await;
    let events = async |filter: &str| -> Vec<Value> {
        let page = auditor.get(&format!("/audit{filter}")).await.ok();
        page["events"].as_array().unwrap().clone()
    };

    let all = events("?limit=50").await;
    assert!(all.is_sorted_by(|newer, older| newer["seq"].as_i64() > older["seq"].as_i64()));
    assert_eq!(on_all_pages(auditor, "limit=2").await, all);

    let of = |events: Vec<Value>| -> Vec<String> {
        let name = |event: &Value| {
            let body = &event["body"];
            format!(
                "{} {} {}",
                event["who"].as_str().unwrap_or("-"),
                body["event"].as_str().unwrap(),
                body["outcome"].as_str().unwrap()
            )
        };
        events.iter().map(name).collect()
    };
    let (approved, asked) = ("approver@example.com approval executed", "assistant tool_call pending");
    assert_eq!(of(events("?category=decisions").await), [approved]);
    assert_eq!(of(events(&format!("?action={id}")).await), [approved, asked]);
    assert_eq!(of(events("?actor=Approver@example.com").await), [approved]);
    assert_eq!(of(events("?actor=assistant&category=tools").await), [asked]);
    assert_eq!(of(events("?denied=true").await), ["reader tool_call scope_missing"]);
    assert_eq!(events("?denied=false&limit=50").await.len(), all.len() - 1);
    let decision = &events("?category=decisions").await[0];
    let by_id = format!("?actor={}", decision["body"]["actor"]["id"].as_str().unwrap());
    assert_eq!(of(events(&by_id).await), [approved]);

    assert_eq!(events("?until=2020-01-01").await, Vec::<Value>::new());
    assert_eq!(events("?since=2020-01-01T00:00:00%2B05:30&limit=50").await, all);
}

backends!(nothing_of_a_period_is_left_out_between_its_pages);
async fn nothing_of_a_period_is_left_out_between_its_pages(app: &TestApp) {
    has_all_on_its_pages(app, 60, 7).await;
}

backends!(nothing_of_a_busy_period_is_left_out_between_its_pages);
async fn nothing_of_a_busy_period_is_left_out_between_its_pages(app: &TestApp) {
    has_all_on_its_pages(app, 1_200, 50).await;
}

/// Of so many events, so many on a page: all of them once, in their order.
async fn has_all_on_its_pages(app: &TestApp, events: usize, limit: usize) {
    app.order("#1001", 50_000).await;
    let id = refund(app, "#1001", 100).await;
    let asked_at = Utc::now();
    let auditor = app.person(Role::Auditor).await;
    busy(&mut app.rival(), &id, events, 40);
    let of_log = |order: &str, condition: &str| {
        let sql =
            format!("SELECT CAST(seq AS text) AS t FROM audit_events WHERE {condition} ORDER BY {order}");
        app.rival().texts(&sql)
    };
    let on_pages = async |filter: &str| -> Vec<String> {
        let events = on_all_pages(auditor, &format!("{filter}&limit={limit}")).await;
        events.iter().map(|event| event["seq"].to_string()).collect()
    };
    let by_time = of_log("at DESC, seq DESC", "1 = 1");
    assert!(by_time.len() > events && by_time != of_log("seq DESC", "1 = 1"));
    assert_eq!(on_pages("since=2020-01-01").await, by_time);
    assert_eq!(on_pages("until=2100-01-01").await, by_time);
    for seconds in [20, 35] {
        let moment = asked_at - TimeDelta::seconds(seconds);
        let (asked, stored) = (moment.format("%Y-%m-%dT%H:%M:%SZ"), moment.format("%Y-%m-%d %H:%M:%S"));
        let earlier = of_log("at DESC, seq DESC", &format!("at < '{stored}'"));
        assert!(!earlier.is_empty() && earlier.len() < by_time.len());
        assert_eq!(on_pages(&format!("until={asked}")).await, earlier);
        assert_eq!(on_pages(&format!("since={asked}")).await, by_time[..by_time.len() - earlier.len()]);
        let tools = of_log("seq DESC", &format!("category = 'tools' AND at >= '{stored}'"));
        assert_eq!(on_pages(&format!("since={asked}&category=tools")).await, tools);
    }
    let of_tools = of_log("seq DESC", "category = 'tools'");
    assert_eq!(on_pages("since=2020-01-01&category=tools").await, of_tools);
}
