//! What one process costs: from its start to its first answer, and its memory after 10,000 requests.
//!
//! `cargo bench --bench footprint` runs the release binary on a fresh SQLite file and prints what it saw.

use std::{
    error::Error,
    fs,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

const COUNTERSIGN: &str = env!("CARGO_BIN_EXE_countersign");
/// How many starts the median is taken of.
const STARTS: usize = 11;
const REQUESTS: u32 = 10_000;
/// How many requests are under way at once.
const AT_ONCE: u32 = 16;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| "a TLS provider is installed already")?;
    let folder = tempfile::tempdir()?;
    run(folder.path(), &["migrate"])?;
    run(folder.path(), &["seed"])?;
    run(
        folder.path(),
        &["person", "add", "--email", "owner@example.com", "--role", "owner", "--json"],
    )?;
    let scopes = ["--scope", "orders:read", "--scope", "orders:write"];
    let agent = run(folder.path(), &[&["agent", "add", "--name", "bench", "--json"], &scopes[..]].concat())?;
    let agent: Value = serde_json::from_slice(&agent)?;
    let key = agent["key"].as_str().ok_or("no key")?;

    let mut starts = Vec::new();
    for _ in 0..STARTS {
        starts.push(Server::start(folder.path()).await?.answered_after);
    }
    starts.sort();
    println!(
        "start to first answer   {:>8.1} ms  (median of {STARTS})",
        starts[STARTS / 2].as_secs_f64() * 1e3
    );

    let server = Server::start(folder.path()).await?;
    println!("memory when idle        {:>8.1} MiB", server.memory()?);
    let begun = Instant::now();
    ask(&server.url, key).await?;
    let rate = f64::from(REQUESTS) / begun.elapsed().as_secs_f64();
    println!(
        "memory after {REQUESTS} requests {:>6.1} MiB  ({AT_ONCE} at once, {rate:.0} a second)",
        server.memory()?
    );
    Ok(())
}

/// Half reads, half requests that open or join an action.
async fn ask(url: &str, key: &str) -> Outcome<()> {
    let tasks = (0..AT_ONCE).map(|task| {
        let (url, key) = (format!("{url}/mcp"), key.to_owned());
        tokio::spawn(async move {
            let http = reqwest::Client::new();
            for round in (task..REQUESTS).step_by(AT_ONCE as usize) {
                let order = format!("#{}", 1001 + round % 200);
                let call = if round % 2 == 0 {
                    json!({"name": "get_order", "arguments": {"order_id": order}})
                } else {
                    let arguments =
                        json!({"order_id": order, "amount_minor": 1, "currency": "INR", "reason": "bench"});
                    json!({"name": "request_refund", "arguments": arguments})
                };
                let message = json!({"jsonrpc": "2.0", "id": round, "method": "tools/call", "params": call});
                let request =
                    http.post(&url).bearer_auth(&key).header("Accept", "application/json, text/event-stream");
                let answer =
                    request.header("MCP-Protocol-Version", "2025-06-18").json(&message).send().await?;
                let answer: Value = answer.error_for_status()?.json().await?;
                if answer["result"].is_null() {
                    return Err(format!("no result: {answer}").into());
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

struct Server {
    process: Child,
    url: String,
    answered_after: Duration,
}

impl Server {
    async fn start(folder: &Path) -> Outcome<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let url = format!("http://{address}");
        let begun = Instant::now();
        let process = command(folder).arg("serve").env("COUNTERSIGN_LISTEN", address.to_string()).spawn()?;
        let mut server = Self {
            process,
            url,
            answered_after: Duration::ZERO,
        };
        let http = reqwest::Client::new();
        while http.get(format!("{}/healthz", server.url)).send().await.is_err() {
            if begun.elapsed() > Duration::from_secs(30) {
                return Err("the server did not answer within 30 s".into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        server.answered_after = begun.elapsed();
        Ok(server)
    }

    /// Resident memory in MiB.
    fn memory(&self) -> Outcome<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(COUNTERSIGN);
    command
        .current_dir(folder)
        .env("COUNTERSIGN_READ_RATE", "off")
        .env("COUNTERSIGN_WRITE_RATE", "off");
    command
        .env("DATABASE_URL", "sqlite://bench.db")
        .env("COUNTERSIGN_LOG", "warn")
        .stderr(Stdio::inherit());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Outcome<Vec<u8>> {
    let output = command(folder).args(arguments).output()?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(format!("{arguments:?} failed").into())
    }
}
