//! What waiting costs: 1,000 calls that wait for 1,000 decisions, on one process and on SQLite.
//!
//! `cargo bench --bench waiters` prints the memory and the processor time of the server while nobody waits, while all wait,
//! and after all have hung up; and how long a decision takes to reach who waits for it.

mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Outcome, Place, Server, call, client};

const WAITERS: usize = 1_000;
/// How long processor time is counted.
const WHILE: Duration = Duration::from_secs(20);
/// How many waiting calls a withdrawal ends, one after the other.
const DECISIONS: usize = 51;

#[tokio::main]
async fn main() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let place = Place::file_in(folder.path());
    let key = place.set_up()?.key;
    let server = Server::start(place).await?;
    let http = client()?;
    let order = json!({"order_id": "#1044", "currency": "INR", "reason": "bench"});
    let mut actions = Vec::new();
    for amount in 1..=WAITERS {
        let mut refund = order.clone();
        refund["amount_minor"] = json!(amount);
        let asked = call(&http, &server.url, &key, "request_refund", refund).await?;
        actions.push(asked["action_id"].clone());
    }
    report(&server, "nobody waits").await?;

    let mut waiting = Vec::new();
    for action in &actions {
        let (http, url, key, action) = (http.clone(), server.url.clone(), key.clone(), action.clone());
        waiting.push(tokio::spawn(async move {
            let wait = json!({"action_id": action, "wait_seconds": 50});
            let status = call(&http, &url, &key, "get_action_status", wait).await?;
            Outcome::Ok((status, Instant::now()))
        }));
    }
    until_waiting(&http, &server, WAITERS).await?;
    report(&server, "1,000 wait").await?;

    let mut latencies = Vec::new();
    for (action, call) in actions.iter().zip(waiting.drain(..DECISIONS)) {
        let latency = wake(&http, &server, &key, action, call).await?;
        latencies.push(latency);
    }
    latencies.sort();
    let (median, longest) = (latencies[DECISIONS / 2], latencies[DECISIONS - 1]);
    println!(
        "from a decision's answer to that of who waits: {median:.1?} (median of {DECISIONS}), {longest:.1?} at most"
    );

    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    until_waiting(&http, &server, 0).await?;
    report(&server, "all hung up").await
}

/// Ends an action, and tells how much later than whoever ended it the waiting call was answered.
async fn wake(
    http: &reqwest::Client,
    server: &Server,
    key: &str,
    action: &Value,
    waiting: tokio::task::JoinHandle<Outcome<(Value, Instant)>>,
) -> Outcome<Duration> {
    call(http, &server.url, key, "withdraw_action", json!({"action_id": action})).await?;
    let ended = Instant::now();
    let (status, answered) = waiting.await??;
    assert_eq!(status["status"], "withdrawn");
    Ok(answered.saturating_duration_since(ended))
}

async fn until_waiting(http: &reqwest::Client, server: &Server, count: usize) -> Outcome<()> {
    let line = format!("\ncountersign_calls_waiting {count}\n");
    let begun = Instant::now();
    while !http.get(format!("{}/metrics", server.url)).send().await?.text().await?.contains(&line) {
        if begun.elapsed() > Duration::from_secs(30) {
            return Err(format!("{count} calls did not come to wait within 30 s").into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

async fn report(server: &Server, when: &str) -> Outcome<()> {
    let before = server.processor_time()?;
    tokio::time::sleep(WHILE).await;
    let used = server.processor_time()?.saturating_sub(before);
    let share = used.as_secs_f64() / WHILE.as_secs_f64() * 100.0;
    println!("{when:<14}{:>8.1} MiB{share:>8.2} % of one processor", server.memory()?);
    Ok(())
}
