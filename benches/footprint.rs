//! What one process costs: from its start to its first answer, and its memory after 10,000 requests.
//!
//! `cargo bench --bench footprint` runs the release binary on a fresh SQLite file and prints what it saw.

mod support;

use std::time::Instant;

use serde_json::json;
use support::{Outcome, Place, Server, call, client, median_start};

/// How many starts the median is taken of.
const STARTS: usize = 11;
const REQUESTS: u32 = 10_000;
/// How many requests are under way at once.
const AT_ONCE: u32 = 16;

#[tokio::main]
async fn main() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let place = Place::file_in(folder.path());
    let key = place.set_up()?.key;

    let start = median_start(place, STARTS).await?;
    println!("start to first answer   {:>8.1} ms  (median of {STARTS})", start.as_secs_f64() * 1e3);

    let server = Server::start(place).await?;
    println!("memory when idle        {:>8.1} MiB", server.memory()?);
    let (begun, used) = (Instant::now(), server.processor_time()?);
    ask(&server.url, &key).await?;
    let rate = f64::from(REQUESTS) / begun.elapsed().as_secs_f64();
    println!(
        "memory after {REQUESTS} requests {:>6.1} MiB  ({AT_ONCE} at once, {rate:.0} a second)",
        server.memory()?
    );
    let used = server.processor_time()?.saturating_sub(used) / REQUESTS;
    println!("processor time a request{:>8.2} ms", used.as_secs_f64() * 1e3);
    Ok(())
}

/// Half reads, half requests that open or join an action.
async fn ask(url: &str, key: &str) -> Outcome<()> {
    let tasks = (0..AT_ONCE).map(|task| {
        let (url, key) = (url.to_owned(), key.to_owned());
        tokio::spawn(async move {
            let http = client()?;
            for round in (task..REQUESTS).step_by(AT_ONCE as usize) {
                let order = format!("#{}", 1001 + round % 200);
                if round % 2 == 0 {
                    call(&http, &url, &key, "get_order", json!({"order_id": order})).await?;
                } else {
                    let refund =
                        json!({"order_id": order, "amount_minor": 1, "currency": "INR", "reason": "bench"});
                    // What a rule of the demo shop refuses is an answer too.
                    let _ = call(&http, &url, &key, "request_refund", refund).await;
                }
            }
            Outcome::Ok(())
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await??;
    }
    Ok(())
}
