//! The disk refuses: at one wait for it or at all from then on, or because it is full.

use std::fs;
use std::io::Read;
use std::ops::Range;
use std::process::{Child, Command, Stdio};

use countersign::store::people::Role;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::known::{Known, Tally};
use super::load::Callers;
use crate::support::books::Books;
use crate::support::person::Reply;
use crate::support::program::Program;
use crate::support::random::{Random, seed};
use crate::support::run::{Fixture, run};
use crate::support::settings::figure;
use crate::support::shop::{id, refund, with_key};
use crate::support::site::Site;
use crate::support::{Backend, Database, TestApp};

/// More waits for the disk than a round has.
const WAITS: usize = 100;

#[test]
fn an_error_at_any_wait_for_the_disk_is_told_to_whom_it_concerns() {
    run(Backend::Sqlite, async |backend: &Backend| errors_from_the_disk(*backend, "").await);
}

#[test]
fn a_disk_that_fails_from_then_on_loses_nothing() {
    run(Backend::Sqlite, async |backend: &Backend| errors_from_the_disk(*backend, "+").await);
}

/// For every N: the Nth wait for the disk of each thread fails, and with `+` all after it.
async fn errors_from_the_disk(backend: Backend, from_then_on: &str) {
    let (mut site, mut tally, mut failures) = (Site::new(backend, 10 * WAITS).await, Tally::default(), 0);
    let log = site.failpoints.folder().to_owned() + "/strace";
    for number in 1.. {
        assert!(number < WAITS, "the run has no end");
        site.stop("KILL");
        let inject = format!("inject=fsync,fdatasync:error=EIO:when={number}{from_then_on}");
        let strace = ["strace", "-D", "-f", "-q", "-o", &log, "-e", &inject];
        let serves = site.start_through(&strace);
        let mut known = Known {
            number,
            ..Known::default()
        };
        if serves {
            work(&site.callers(), &mut known).await;
            site.books.balance();
            if from_then_on.is_empty() && failed(&log) > 0 {
                // The same process goes on.
                let stored = known.still_holds(&site.database, &mut Tally::default());
                site.callers().ask_again(&known, &stored).await;
            }
            site.stop("KILL");
        }
        let failed = failed(&log);
        site.start().await;
        site.books.balance();
        if failed == 0 {
            break;
        }
        failures += 1;
        let stored = known.still_holds(&site.database, &mut tally);
        site.callers().ask_again(&known, &stored).await;
        site.books.balance();
    }
    assert!(failures > 5, "only {failures} waits for the disk failed");
    let what = if from_then_on.is_empty() {
        "one error of the disk"
    } else {
        "a disk that fails for good"
    };
    figure(&format!("{what}, at each of {failures} waits for it: {tally}"));
}

/// How many waits for the disk have failed.
fn failed(log: &str) -> usize {
    fs::read_to_string(log).unwrap().matches("(INJECTED)").count()
}

/// Eight requests, then eight approvals, alone and at once. What is `unavailable` has no answer.
async fn work(callers: &Callers, known: &mut Known) {
    for at_once in [0..1, 1..2, 2..4, 4..8] {
        ask(callers, known, at_once.clone()).await;
    }
    for at_once in [0..1, 1..2, 2..4, 4..8] {
        approve(callers, known, at_once).await;
    }
}

async fn ask(callers: &Callers, known: &mut Known, at_once: Range<usize>) {
    let number = known.number;
    let asked = join_all(at_once.map(|own| {
        let arguments = with_key(refund(&format!("#{number}"), 1 + own), format!("{number}.{own}"));
        let agent = &callers.agents[own];
        async move {
            let answer = agent.call("request_refund", arguments.clone()).await;
            (
                "request_refund",
                arguments,
                told(answer.is_error, &answer.body["error"]["code"], &answer.body),
            )
        }
    }));
    known.requests.extend(asked.await);
}

async fn approve(callers: &Callers, known: &mut Known, at_once: Range<usize>) {
    let actions = known.requests[at_once].iter().filter_map(|(_, _, answer)| answer.as_ref());
    let approved = join_all(actions.zip(callers.approvers.iter().cycle()).map(async |(answer, person)| {
        let mut seen = person.try_action(id(answer)).await.unwrap();
        seen.as_object_mut().unwrap().remove("subject_versions");
        let reply = person.approve_as_seen(&seen).await;
        let told = told(reply.status != 200, &reply.body["code"], &reply.body).is_some();
        (seen, told.then_some(reply))
    }));
    let approved: Vec<(Value, Option<Reply>)> = approved.await;
    known.approvals.extend(approved);
}

/// What was answered; an error may only say that the outcome is unknown.
fn told(is_error: bool, code: &Value, body: &Value) -> Option<Value> {
    assert!(!is_error || code == "unavailable", "{body}");
    (!is_error).then(|| body.clone())
}

#[test]
fn a_full_disk_refuses_what_it_can_not_hold_until_there_is_room() {
    run(Backend::Sqlite, async |backend: &Backend| full_disk(*backend).await);
}

async fn full_disk(backend: Backend) {
    let app = TestApp::set_up(backend).await;
    app.order("#1", 1_000_000_000).await;
    let (agent, person) = (app.agent.clone(), app.person(Role::Approver).await.clone());
    let database = app.leave().await;
    let books = Books::open(&database);
    let disk = SmallDisk::with(&database, "16m");
    let mut program = Program::on(&database)
        .with("DATABASE_URL", &disk.url())
        .with("COUNTERSIGN_READ_RATE", "off")
        .with("COUNTERSIGN_WRITE_RATE", "off");
    program.go_through(&disk.inside().iter().map(String::as_str).collect::<Vec<_>>());
    disk.run("head -c 4m /dev/zero > ballast");
    let served = program.serve(&["serve", "--listen", "127.0.0.1:0"]);
    let (agents, person) = (agent.at(&served.url).processes(8), person.at(&served.url));

    let (mut known, mut random, mut refused) = (
        Known {
            number: 1,
            ..Known::default()
        },
        Random::from_seed(seed()),
        0,
    );
    while refused < 40 {
        let count = known.requests.len();
        assert!(count < 20_000, "the disk has no end");
        let asked = join_all(agents.iter().enumerate().map(|(caller, agent)| {
            let own = count + caller;
            let arguments = with_key(refund("#1", 1 + own), format!("1.{own}"));
            let arguments = padded(arguments, random.below(1_000));
            async move {
                let answer = agent.call("request_refund", arguments.clone()).await;
                (
                    "request_refund",
                    arguments,
                    told(answer.is_error, &answer.body["error"]["code"], &answer.body),
                )
            }
        }));
        let asked = asked.await;
        refused += asked.iter().filter(|(_, _, answer)| answer.is_none()).count();
        known.requests.extend(asked);
    }
    let listed = person.get("/actions").await;
    assert_eq!(listed.status, 200, "reading goes on: {listed:?}");

    disk.run("rm ballast");
    let unanswered = known.requests.iter().filter(|(_, _, answer)| answer.is_none());
    for (tool, arguments, _) in unanswered.clone() {
        let answer = agents[0].call(tool, arguments.clone()).await.ok();
        assert!(answer["disposition"] == "new" || answer["disposition"] == "joined", "{answer}");
    }
    let approved = person.approve(id(known.requests[0].2.as_ref().unwrap())).await;
    assert_eq!(approved.ok()["status"], "executed");
    let (code, _) = served.stop("TERM");
    assert_eq!(code, Some(0));

    disk.give_back(&database);
    books.balance();
    let (all, refused) = (known.requests.len(), unanswered.count());
    let mut tally = Tally::default();
    known.still_holds(&database, &mut tally);
    figure(&format!("a full disk: {all} requests, {refused} of them refused, none lost"));
}

fn padded(mut arguments: Value, letters: u64) -> Value {
    arguments["reason"] = json!("x".repeat(usize::try_from(1 + letters).unwrap()));
    arguments
}

/// A file system of its own, of so many bytes, that goes with the process that keeps it.
struct SmallDisk {
    keeper: Child,
    folder: TempDir,
}

impl SmallDisk {
    fn with(database: &Database, size: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("countersign-test.").tempdir().unwrap();
        let path = folder.path().display();
        let script = format!(
            "mount -t tmpfs -o size={size} none {path} && cp {}* {path} && echo && cat",
            file(database)
        );
        let mut command = Command::new("unshare");
        command
            .args(["-r", "-m", "sh", "-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut keeper = command.spawn().expect("unshare");
        let mut ready = [0];
        keeper.stdout.as_mut().unwrap().read_exact(&mut ready).expect("a tmpfs of its own");
        Self { keeper, folder }
    }

    fn url(&self) -> String {
        format!("sqlite://{}/countersign.db", self.folder.path().display())
    }

    /// What starts a program that sees the disk.
    fn inside(&self) -> Vec<String> {
        let pid = self.keeper.id().to_string();
        ["nsenter", "-U", "-m", "--preserve-credentials", "-t", &pid].map(str::to_owned).to_vec()
    }

    fn run(&self, script: &str) {
        let words = self.inside();
        let script = format!("cd {} && {script}", self.folder.path().display());
        let ran = Command::new(&words[0]).args(&words[1..]).args(["sh", "-c", &script]).status().unwrap();
        assert!(ran.success(), "{script}");
    }

    /// Copies what is on it to where it came from.
    fn give_back(&self, database: &Database) {
        let file = file(database);
        self.run(&format!(
            "rm -f {file}* && cp countersign.db* {}",
            file.trim_end_matches("countersign.db")
        ));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

fn file(database: &Database) -> &str {
    database.url.strip_prefix("sqlite://").unwrap()
}
