//! A competing transaction holds a lock for longer than anybody waits: `unavailable`, which may be sent again; no row, and
//! no word of SQL.
//!
//! SQLite has one lock, which `BEGIN` waits for. On Postgres the first statement waits, one in the middle, or the commit.

use countersign::store::people::Role;
use serde_json::Value;

use super::ROUNDS;
use crate::support::app::Server;
use crate::support::races::{race, repeat};
use crate::support::rival::Rival;
use crate::support::shop::{refund, with_key};
use crate::support::{Agent, Backend, Person, TestApp, backends};

/// At one server: more than its pool has connections, so that some wait for one in vain, and then for the lock.
const CALLERS: usize = 20;
/// At each other server.
const FEW_CALLERS: usize = 4;
/// A wait takes ten seconds, five for a connection and five for the lock, however many wait. So many servers are kept out by
/// one lock, each with an order and with callers of its own: a round at each of them.
const SERVERS: usize = 20;

backends!(whoever_is_locked_out_may_ask_again);

async fn whoever_is_locked_out_may_ask_again(app: &TestApp) {
    let others: Vec<_> = (1..SERVERS).map(|_| app.another_server()).collect();
    lock_out(app, &others, "begin", |rival| {
        rival.begin("UPDATE actions SET lock_no = lock_no");
        rival.run(
            "INSERT INTO slots SELECT principal_id, 'e:new ' || substr(key, 7), fingerprint, NULL, 0, 0
             FROM slots WHERE key LIKE 'e:old %' ON CONFLICT DO NOTHING",
        );
    })
    .await;
    if app.database.backend == Backend::Postgres {
        let middle = |rival: &mut Rival| rival.begin("UPDATE orders SET version = version");
        lock_out(app, &others, "middle", middle).await;
        app.rival().block_commits();
        let commit = |rival: &mut Rival| rival.begin("UPDATE turnstile SET one = one");
        lock_out(app, &others, "commit", commit).await;
    }
    for server in others {
        server.stop().await;
    }
}

/// Requests and approvals at every server, and a click, that `lock` keeps out, and once more without it.
async fn lock_out(app: &TestApp, others: &[Server], place: &str, lock: impl Fn(&mut Rival)) {
    let person = app.person(Role::Approver).await;
    let mut callers: Vec<_> = others
        .iter()
        .map(|server| Callers::new(&person.at(&server.url), &app.agent.at(&server.url), FEW_CALLERS))
        .collect();
    callers.push(Callers::new(person, &app.agent, CALLERS));
    let session = app.session(person).await;
    let books = app.books();
    let name = format!("locked out at {place}, at {SERVERS} servers a round");
    repeat(&name, app.database.backend, ROUNDS / SERVERS, async |round| {
        let (mut approvals, mut requests) = (Vec::new(), Vec::new());
        for (server, callers) in callers.iter().enumerate() {
            let order = app.order(&format!("#{place}{round}.{server}"), 50_000).await.name;
            for (number, (window, process)) in callers.windows.iter().zip(&callers.processes).enumerate() {
                let arguments =
                    |when| with_key(refund(&order, 100 + number), format!("{when} {order}.{number}"));
                let action = app.ask("request_refund", arguments("old")).await;
                approvals.push((window, person.action_alone(&action).await));
                requests.push((process, arguments("new")));
            }
        }
        let approving = || approvals.iter().map(|(window, seen)| window.approving(seen));
        let calling = || requests.iter().map(|(process, new)| process.calling("request_refund", new));
        let before = app.rival().everything();

        let mut rival = app.rival();
        lock(&mut rival);
        let (_, clicked) = &approvals[approvals.len() - 1];
        let click = session.approving(clicked);
        let (answers, replies, page) = tokio::join!(race(calling()), race(approving()), click);
        rival.run("ROLLBACK");

        for answer in answers {
            assert_eq!(answer.code(), "unavailable");
            may_be_sent_again(&answer.body["error"]);
        }
        for reply in replies {
            assert_eq!((reply.status.as_u16(), reply.code()), (503, "unavailable"));
            may_be_sent_again(&reply.body);
        }
        assert_eq!(page.status, 503);
        keeps_quiet(&page.html);
        assert_eq!(app.rival().everything(), before);

        for reply in race(approving()).await {
            assert_eq!(reply.ok()["status"], "executed");
        }
        for answer in race(calling()).await {
            assert_eq!(answer.ok()["disposition"], "new");
        }
        books.balance();
    })
    .await;
}

/// As many windows of a person as processes of an agent, at one server.
struct Callers {
    windows: Vec<Person>,
    processes: Vec<Agent>,
}

impl Callers {
    fn new(person: &Person, agent: &Agent, count: usize) -> Self {
        Self {
            windows: person.windows(count / 2),
            processes: agent.processes(count / 2),
        }
    }
}

#[track_caller]
fn may_be_sent_again(error: &Value) {
    assert!(error["retry_after_seconds"].as_u64().is_some_and(|seconds| seconds > 0), "{error}");
    keeps_quiet(&error.to_string());
}

#[track_caller]
fn keeps_quiet(text: &str) {
    let text = text.to_lowercase();
    for word in ["locked", "lock timeout", "busy", "statement", "sql"] {
        assert!(!text.contains(word), "{text}");
    }
}
