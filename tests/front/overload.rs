//! More than it can do: whoever can't be served in time is told when to come back, and everybody else is served.

use std::fs;
use std::ops::Range;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use reqwest::StatusCode;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::support::http::client;
use crate::support::rival::Rival;
use crate::support::run::run;
use crate::support::session::sign_in;
use crate::support::settings::{figure, rounds};
use crate::support::shop::{id, refund, with_key};
use crate::support::site::Site;
use crate::support::{Agent, Backend, backends};

/// How many calls come, and how many of them at once: with more this process would not get round to saying in time what it
/// connected for.
const BURST: usize = 12_000;
const AT_ONCE: usize = 2_000;
/// How many connect and say nothing.
const IDLE: usize = 10_000;
/// How many passwords somebody tries: fewer than one address may.
const TRIES: usize = 40;

backends!(a_burst_on_a_database_that_stands_still, connections_that_say_nothing);

async fn a_burst_on_a_database_that_stands_still(backend: &Backend) {
    let mut site = Site::new(*backend, 1).await;
    let (agents, person) = (site.agent().processes(50), site.person());
    let begun_with = site.memory();
    let mut lock = Rival::on(&site.database);
    let mut peaks = Vec::new();
    for burst in 0..2 {
        lock.begin("UPDATE orders SET version = version");
        let looking = tokio::spawn({
            let person = person.clone();
            async move {
                let mut longest = Duration::ZERO;
                for _ in 0..20 {
                    let begun = Instant::now();
                    assert_eq!(person.get("/actions").await.status, 200, "people's reads go on");
                    longest = longest.max(begun.elapsed());
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                longest
            }
        });
        let calls = (0..rounds(BURST)).map(|call| ask(&agents[call % agents.len()], burst, call));
        let mut answers = stream::iter(calls).buffer_unordered(AT_ONCE);
        while let Some((code, after)) = answers.next().await {
            assert_eq!((code.as_str(), after >= 1), ("unavailable", true));
        }
        let longest = looking.await.unwrap();
        peaks.push((site.peak(), longest));
        lock.run("ROLLBACK");
        site.until_quiet().await;
    }
    let answer = agents[0].call("request_refund", refund("#0", 7)).await.ok();
    assert_eq!(person.approve(id(&answer)).await.ok()["status"], "executed");
    site.books.balance();
    let (first, second) = (peaks[0], peaks[1]);
    figure(&format!(
        "a burst of {} calls, {backend}: {begun_with} MiB before, at most {} MiB, and {} MiB with the next; a page took {:.0?} at most",
        rounds(BURST),
        first.0,
        second.0,
        first.1.max(second.1)
    ));
    assert!(second.0 <= first.0 + first.0 / 4 + 16, "memory grows from burst to burst");
    site.stop("TERM");
}

/// Asks for a refund that can't be had now. Answers the code, and when to come back.
async fn ask(agent: &Agent, burst: usize, call: usize) -> (String, u64) {
    let arguments = with_key(refund("#0", 1 + call), format!("{burst}.{call}"));
    let answer = agent.call("request_refund", arguments).await;
    let after = answer.body["error"]["retry_after_seconds"].as_u64().unwrap_or_default();
    (answer.code().to_owned(), after)
}

async fn connections_that_say_nothing(backend: &Backend) {
    let mut site = Site::new(*backend, 1).await;
    let address = site.url().strip_prefix("http://").unwrap().to_owned();
    let before = site.memory();
    let mut idle = Vec::new();
    for _ in 0..rounds(IDLE) {
        idle.push(TcpStream::connect(&address).await.unwrap());
    }
    let answer = site.agent().call("request_refund", refund("#0", 7)).await.ok();
    assert_eq!(site.person().approve(id(&answer)).await.ok()["status"], "executed");
    let with_them = site.memory();

    let begun = Instant::now();
    for connection in &mut idle {
        // Whatever it says, it hangs up.
        let mut said = Vec::new();
        tokio::time::timeout(Duration::from_secs(60), connection.read_to_end(&mut said))
            .await
            .unwrap()
            .unwrap();
    }
    figure(&format!(
        "{} connections that say nothing, {backend}: {before} MiB before, {with_them} MiB with them, hung up after {:.1?}",
        idle.len(),
        begun.elapsed()
    ));
    site.stop("TERM");
}

#[test]
fn passwords_that_are_tried_take_the_memory_of_two_hashes_for_a_while() {
    run(Backend::Sqlite, async |backend: &Backend| {
        let site = &Site::new(*backend, 1).await;
        let (http, before) = (client(), site.memory());
        let again = |numbers: Range<usize>| {
            let tries = numbers.map(|number| {
                let (http, email) = (http.clone(), format!("{number}@example.com"));
                async move { sign_in(site.url(), &http, &email, "guessed").await.status() }
            });
            stream::iter(tries).buffer_unordered(8).for_each(async |status| {
                assert_eq!(status, StatusCode::UNAUTHORIZED);
            })
        };
        again(0..TRIES).await;
        let after = site.memory();
        // A hash takes 19, and the requests a little.
        assert!(after < before + 3 * 19, "{before} MiB, then {after}");

        let mut later = Vec::new();
        for round in 0..2 {
            again(TRIES + round * 2..TRIES + round * 2 + 2).await;
            // The threads that hashed end after ten seconds.
            for _ in 0..30 {
                tokio::time::sleep(Duration::from_secs(1)).await;
                if site.memory() < before + 19 {
                    break;
                }
            }
            later.push(site.memory());
        }
        figure(&format!(
            "{TRIES} passwords tried: {before} MiB before, {after} MiB after, {later:?} MiB some seconds later and again"
        ));
        assert!(later.iter().all(|later| *later < before + 19), "{before} MiB, then {later:?}");
    });
}

impl Site {
    /// Resident memory of the program, in MiB.
    fn memory(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// The most that it was.
    fn peak(&self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
    }
}
