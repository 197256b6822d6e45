//! The release binary on a database of its own, for the benchmarks.

#![allow(dead_code, reason = "each benchmark uses its part")]

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
/// Signs what the server hands out.
pub const SECRET: &str = "57b1f1b1d38e28fed5cfdfab35420af8a5c6e4966933b6dff75769366bbf6531";

/// Who decides.
pub const OWNER: &str = "owner@example.com";

pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Who acts.
pub struct Cast {
    /// An agent that may ask for refunds and stock changes.
    pub key: String,
    /// An owner's API token…
    pub token: String,
    /// …and password.
    pub password: String,
}

/// A folder with a SQLite file, or a database of a server.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub folder: &'a Path,
    pub url: &'a str,
}

impl<'a> Place<'a> {
    /// A fresh SQLite file in this folder.
    pub fn file_in(folder: &'a Path) -> Self {
        Self {
            folder,
            url: "sqlite://bench.db",
        }
    }

    /// Migrates and fills the shop, and adds who acts.
    pub fn set_up(self) -> Outcome<Cast> {
        // Installed already when there was another place before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        self.run(&["migrate"])?;
        self.run(&["seed"])?;
        let owner = self.run(&["person", "add", "--email", OWNER, "--role", "owner", "--json"])?;
        let scopes = ["--scope", "orders:read", "--scope", "orders:write", "--scope", "inventory:write"];
        let agent = self.run(&[&["agent", "add", "--name", "bench", "--json"], &scopes[..]].concat())?;
        let secret = |printed: &[u8], name: &str| {
            let printed: Value = serde_json::from_slice(printed)?;
            Outcome::Ok(printed[name].as_str().ok_or("it was not printed")?.to_owned())
        };
        Ok(Cast {
            key: secret(&agent, "key")?,
            token: secret(&owner, "api_token")?,
            password: secret(&owner, "password")?,
        })
    }

    fn command(self) -> Command {
        let mut command = Command::new(COUNTERSIGN);
        command
            .current_dir(self.folder)
            .env("COUNTERSIGN_READ_RATE", "off")
            // Every request takes a token, as it does by default, and there is always one.
            .env("COUNTERSIGN_WRITE_RATE", "1000000/min:1000000")
            .env("COUNTERSIGN_ACTION_TTL", "1d")
            .env("COUNTERSIGN_SECRET", SECRET)
            .env("DATABASE_URL", self.url)
            .env("COUNTERSIGN_LOG", "warn")
            .stderr(Stdio::inherit());
        command
    }

    fn run(self, arguments: &[&str]) -> Outcome<Vec<u8>> {
        let output = self.command().args(arguments).output()?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(format!("{arguments:?} failed").into())
        }
    }
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
    result(&answer)
}

/// What a tool answered, unless it refused.
pub fn result(answer: &Value) -> Outcome<Value> {
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
    pub async fn start(place: Place<'_>) -> Outcome<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let url = format!("http://{address}");
        let begun = Instant::now();
        let process = place.command().arg("serve").env("COUNTERSIGN_LISTEN", address.to_string()).spawn()?;
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

    /// Where it listens, such as `127.0.0.1:40123`.
    pub fn address(&self) -> &str {
        &self.url["http://".len()..]
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
        self.memory_as("VmRSS:")
    }

    /// The most resident memory it ever had, in MiB.
    pub fn peak_memory(&self) -> Outcome<f64> {
        self.memory_as("VmHWM:")
    }

    fn memory_as(&self, name: &str) -> Outcome<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The median of so many starts, until the first answer.
pub async fn median_start(place: Place<'_>, starts: usize) -> Outcome<Duration> {
    let mut took = Vec::new();
    for _ in 0..starts {
        took.push(Server::start(place).await?.answered_after);
    }
    took.sort();
    Ok(took[starts / 2])
}
