//! The release binary on a fresh SQLite file, for the benchmarks.

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

pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Migrates and fills the shop in this folder, and adds one agent that may ask for refunds. Answers its key.
pub fn set_up(folder: &Path) -> Outcome<String> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| "a TLS provider is installed already")?;
    run(folder, &["migrate"])?;
    run(folder, &["seed"])?;
    run(folder, &["person", "add", "--email", "owner@example.com", "--role", "owner", "--json"])?;
    let scopes = ["--scope", "orders:read", "--scope", "orders:write"];
    let agent = run(folder, &[&["agent", "add", "--name", "bench", "--json"], &scopes[..]].concat())?;
    let agent: Value = serde_json::from_slice(&agent)?;
    Ok(agent["key"].as_str().ok_or("no key")?.to_owned())
}

/// A client that gives up idle connections before the server does. It trusts no certificate: to read those of the system
/// takes longer than many a request.
pub fn client() -> Outcome<reqwest::Client> {
    let builder = reqwest::Client::builder().pool_idle_timeout(Duration::from_secs(2));
    Ok(builder.no_proxy().tls_certs_only([]).build()?)
}

/// A request that the server answers with a result.
pub async fn call(
    http: &reqwest::Client,
    url: &str,
    key: &str,
    tool: &str,
    arguments: Value,
) -> Outcome<Value> {
    let params = json!({"name": tool, "arguments": arguments});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let request = http.post(format!("{url}/mcp")).bearer_auth(key);
    let request = request
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", "2025-06-18");
    let answer: Value = request.json(&message).send().await?.error_for_status()?.json().await?;
    match answer["result"].get("structuredContent") {
        Some(body) if answer["result"]["isError"] != true => Ok(body.clone()),
        _ => Err(format!("no result: {answer}").into()),
    }
}

/// A running server, killed when dropped.
pub struct Server {
    process: Child,
    pub url: String,
    pub answered_after: Duration,
}

impl Server {
    pub async fn start(folder: &Path) -> Outcome<Self> {
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

    /// Processor time used so far.
    pub fn processor_time(&self) -> Outcome<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        // The name may hold spaces; what follows it doesn't. User and system time are the 14th and 15th field.
        let (_, fields) = stat.rsplit_once(')').ok_or("no stat")?;
        let ticks: u64 = fields.split_whitespace().skip(11).take(2).flat_map(str::parse::<u64>).sum();
        // Linux counts in hundredths of a second wherever it tells programs.
        Ok(Duration::from_millis(ticks * 10))
    }

    /// Resident memory in MiB.
    pub fn memory(&self) -> Outcome<f64> {
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
