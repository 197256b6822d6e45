//! How much it does, beside how much could be done on this machine at this moment.
//!
//! `cargo bench --bench throughput` prints a table for SQLite and two for Postgres: durable requests, replays, reads and
//! approvals a second, with 1 to 128 callers, each beside its floor. A floor is the statements of the call alone, in a bare
//! loop or sent by pgbench; for reads a tool that does nothing is another.
//!
//! With `-- sqlite`, `-- postgres` or `-- prepared` (Postgres, whose connections keep statements prepared) it is one of them.
//!
//! `cargo bench --bench throughput -- --growth` prints how long the same calls take on 1,000 to 1,000,000 actions.

mod bare;
#[allow(dead_code, reason = "the tests need more of it")]
#[path = "../../tests/front/support/cluster.rs"]
mod cluster;
mod grown;
mod growth;
#[allow(dead_code, reason = "the tests need more of it")]
#[path = "../../tests/front/support/history.rs"]
mod history;
mod load;
mod nothing;
mod orders;
mod pgbench;
mod recorded;
mod sample;
mod site;
#[path = "../support/mod.rs"]
mod support;
mod table;
#[allow(dead_code, reason = "the tests need more of it")]
#[path = "../../tests/front/support/tether.rs"]
mod tether;

use std::{
    io::Write,
    ops::Range,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use load::{Call, Calls, Figures, ask};
use orders::Order;
use recorded::Statement;
use sample::Sample;
use serde_json::{Value, json};
use site::{Backend, Site};
use support::{Cast, Outcome, Server, median_start, result};
use table::Table;

const AT_ONCE: [usize; 4] = [1, 8, 32, 128];
/// The orders before are those of the sample.
const FIRST: usize = 4;
/// Calls of one kind with one number of callers, at most…
const CALLS: usize = 4_096;
/// …and for how long.
const WHILE: Duration = Duration::from_secs(20);
const STARTS: usize = 11;
/// After how many calls memory is looked at again.
const LATER: [usize; 3] = [25_000, 50_000, 100_000];

#[tokio::main]
async fn main() -> Outcome<()> {
    recorded::listen()?;
    let nothing = nothing::serve()?;
    if std::env::args().any(|argument| argument == "--growth") {
        return growth::print(&nothing).await;
    }
    for backend in backends() {
        let mut table = Table::default();
        let floors = floors(backend).await?;
        let site = Site::new(backend, range(AT_ONCE.len()).start)?;
        println!("\n{backend:?}");
        println!("a write of 8 KiB and its fsync {:>8.2} ms", fsync(site.folder())?.as_secs_f64() * 1e3);
        println!("statements of a request {:>12}", floors.statements.0);
        println!("statements of an approval {:>10}", floors.statements.1);
        println!("statements of a read {:>15}", floors.statements.2);
        let start = median_start(site.place(), STARTS).await?;
        println!("start to first answer {:>14.1} ms", start.as_secs_f64() * 1e3);
        let server = Server::start(site.place()).await?;
        println!("memory when idle {:>19.1} MiB", server.memory()?);
        for (step, at_once) in AT_ONCE.into_iter().enumerate() {
            let measured = measure(&server, &site.cast, range(step), at_once, &nothing).await?;
            let floor = floors.at(at_once);
            table.row("requests", at_once, measured.requests, &floor.requests);
            table.row("replays", at_once, measured.replays, &[("requests", measured.requests.rate)]);
            let nothing = [("a tool that does nothing", measured.nothing.rate)];
            table.row("reads", at_once, measured.reads, &[&nothing, &floor.reads[..]].concat());
            table.row("approvals", at_once, measured.approvals, &floor.approvals);
        }
        print!("{table}");
        println!("peak memory {:>24.1} MiB", server.peak_memory()?);
        memory_later(&server, &site.cast).await?;
    }
    Ok(())
}

/// Those that the command line names, or all.
fn backends() -> Vec<Backend> {
    let asked = |backend: &Backend| {
        std::env::args().any(|argument| argument.eq_ignore_ascii_case(&format!("{backend:?}")))
    };
    let all = [Backend::Sqlite, Backend::Postgres, Backend::Prepared];
    let named: Vec<_> = all.into_iter().filter(asked).collect();
    if named.is_empty() { all.to_vec() } else { named }
}

/// The calls of a step.
fn range(step: usize) -> Range<usize> {
    let start = FIRST + step * CALLS;
    start..start + CALLS
}

struct Measured {
    requests: Figures,
    replays: Figures,
    reads: Figures,
    nothing: Figures,
    approvals: Figures,
}

async fn measure(
    server: &Server,
    cast: &Cast,
    calls: Range<usize>,
    at_once: usize,
    nothing: &str,
) -> Outcome<Measured> {
    let address = server.address();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (heard, refunds) = (Arc::clone(&asked), tool(&cast.key, "request_refund", refund));
    let requests = ask(address, at_once, WHILE, calls.clone(), &refunds, move |answer| {
        let id = result(answer)?["action_id"].as_str().ok_or("no id")?.to_owned();
        heard.lock().unwrap().push(id);
        Ok(())
    });
    let requests = requests.await?;
    let asked = Arc::new(std::mem::take(&mut *asked.lock().unwrap()));
    let count = asked.len();
    let again = calls.start..calls.start + count;
    let joined = |answer: &Value| match result(answer)?["disposition"].as_str() {
        Some("joined") => Ok(()),
        other => Err(format!("no replay: {other:?}").into()),
    };
    let replays = ask(address, at_once, WHILE, again.clone(), &refunds, joined).await?;
    let tools = tool(&cast.key, "get_order", read);
    let reads =
        ask(address, at_once, WHILE, again.clone(), &tools, |answer| result(answer).map(drop)).await?;
    let nothing = ask(nothing, at_once, WHILE, again, &tools, |answer| result(answer).map(drop)).await?;
    Ok(Measured {
        requests,
        replays,
        reads,
        nothing,
        approvals: approve(address, cast, asked, at_once).await?,
    })
}

async fn approve(address: &str, cast: &Cast, asked: Arc<Vec<String>>, at_once: usize) -> Outcome<Figures> {
    let (count, headers) = (asked.len(), format!("Authorization: Bearer {}\r\n", cast.token));
    let (ids, shown) = (Arc::clone(&asked), Arc::new(Mutex::new(Vec::new())));
    let (with, heard) = (headers.clone(), Arc::clone(&shown));
    let details: Calls = Arc::new(move |number| Call {
        line: format!("GET /api/v1/actions/{}", ids[number]),
        headers: with.clone(),
        body: String::new(),
    });
    let look = move |answer: &Value| {
        let text = |name: &str| answer[name].as_str().map(ToOwned::to_owned).ok_or("no such member");
        heard.lock().unwrap().push((text("action_id")?, text("digest")?));
        Ok(())
    };
    ask(address, 8, Duration::MAX, 0..count, &details, look).await?;
    let shown = std::mem::take(&mut *shown.lock().unwrap());
    let approvals: Calls = Arc::new(move |number| {
        let (id, digest) = &shown[number];
        Call {
            line: format!("POST /api/v1/actions/{id}/approve"),
            headers: headers.clone(),
            body: json!({"digest": digest}).to_string(),
        }
    });
    let executed = |answer: &Value| match answer["status"].as_str() {
        Some("executed") => Ok(()),
        _ => Err(format!("not executed: {answer}").into()),
    };
    ask(address, at_once, WHILE, 0..count, &approvals, executed).await
}

/// Whether memory stays what it is.
async fn memory_later(server: &Server, cast: &Cast) -> Outcome<()> {
    let orders = CALLS * AT_ONCE.len();
    let again = move |number: usize| refund(FIRST + number % orders);
    let (calls, mut done) = (tool(&cast.key, "request_refund", again), 0);
    for later in LATER {
        let look = |answer: &Value| result(answer).map(drop);
        ask(server.address(), 32, Duration::MAX, done..later, &calls, look).await?;
        done = later;
        println!("memory {later:>7} calls later {:>12.1} MiB", server.memory()?);
    }
    Ok(())
}

/// Calls of a tool.
fn tool(key: &str, name: &'static str, arguments: impl Fn(usize) -> Value + Send + Sync + 'static) -> Calls {
    let headers = format!(
        "Authorization: Bearer {key}\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n"
    );
    Arc::new(move |number| {
        let params = json!({"name": name, "arguments": arguments(number)});
        Call {
            line: "POST /mcp".to_owned(),
            headers: headers.clone(),
            body: json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
                .to_string(),
        }
    })
}

fn refund(order: usize) -> Value {
    json!({"order_id": Order::numbered(order).name, "amount_minor": 100, "currency": "EUR", "reason": "bench"})
}

fn read(order: usize) -> Value {
    json!({"order_id": Order::numbered(order).name})
}

/// What could be done, for each number of callers.
struct Floors {
    at: Vec<(usize, Floor)>,
    /// Of a request, of an approval, and of a read.
    statements: (usize, usize, usize),
}

/// Each with what it is.
struct Floor {
    requests: Vec<(&'static str, f64)>,
    approvals: Vec<(&'static str, f64)>,
    reads: Vec<(&'static str, f64)>,
}

impl Floors {
    fn at(&self, at_once: usize) -> &Floor {
        &self.at.iter().find(|(of, _)| *of == at_once).expect("there is one for each").1
    }
}

async fn floors(backend: Backend) -> Outcome<Floors> {
    let site = Site::new(backend, range(AT_ONCE.len()).end)?;
    let Sample {
        request,
        approval,
        read,
    } = sample::take(site.url(), &site.cast).await?;
    let statements = (request.len(), approval.len(), read.len());
    let kinds = [request, approval, read];
    let every = |run: &dyn Fn(&[Statement]) -> Outcome<f64>| {
        let rates: Outcome<Vec<f64>> = kinds.iter().map(|statements| run(statements)).collect();
        rates
    };
    let at_once = |calls: Range<usize>, at_once| match backend {
        Backend::Sqlite => every(&|one| bare::run(&bare::open(&site.file())?, one, calls.clone(), at_once)),
        Backend::Postgres | Backend::Prepared => {
            every(&|one| pgbench::run(&site, one, calls.clone(), at_once, 1))
        }
    };
    let (name, other) = match backend {
        Backend::Sqlite => ("a bare loop, committed together", "a bare loop"),
        Backend::Postgres | Backend::Prepared => ("pgbench", "pgbench, 32 in one transaction"),
    };
    let others = match backend {
        Backend::Sqlite => at_once(range(AT_ONCE.len()), 1)?,
        Backend::Postgres | Backend::Prepared => {
            every(&|one| pgbench::run(&site, one, range(AT_ONCE.len()), 1, 32))?
        }
    };
    let mut at = Vec::new();
    for (step, callers) in AT_ONCE.into_iter().enumerate() {
        let rates = at_once(range(step), callers)?;
        let both = |kind: usize| vec![(name, rates[kind]), (other, others[kind])];
        let floor = Floor {
            requests: both(0),
            approvals: both(1),
            reads: both(2),
        };
        at.push((callers, floor));
    }
    Ok(Floors { at, statements })
}

/// The median of many writes that wait for the disk.
fn fsync(folder: &Path) -> Outcome<Duration> {
    let mut file = std::fs::File::create(folder.join("fsync"))?;
    let mut took = Vec::new();
    for _ in 0..201 {
        let begun = Instant::now();
        file.write_all(&[1; 8_192])?;
        file.sync_data()?;
        took.push(begun.elapsed());
    }
    took.sort();
    Ok(took[took.len() / 2])
}
