//! The Postgres server dies under load, and the one that followed it takes its place.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use countersign::store::people::Role;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::support::cluster::Cluster;
use crate::support::run::{Fixture, run};
use crate::support::settings::figure;
use crate::support::shop::{id, refund, with_key};
use crate::support::{Agent, Backend, Database, Person, TestApp};

const CALLERS: usize = 8;

#[test]
fn after_a_failover_all_is_as_it_was_told_and_service_is_back() {
    all_is_as_it_was_told(|database| database.url.clone());
}

#[test]
fn after_a_failover_all_is_as_it_was_told_by_statements_that_are_kept() {
    all_is_as_it_was_told(Database::keeping_statements);
}

fn all_is_as_it_was_told(address: impl Fn(&Database) -> String) {
    run(Backend::Postgres, async |_: &Backend| {
        let primary = Cluster::new(|_| "wal_level = replica\nmax_wal_senders = 4".to_owned());
        let follower = Cluster::following(&primary);
        let (first, second) = (primary.address(), follower.address());
        let url = format!("postgres://postgres@{first},{second}/postgres?target_session_attrs=read-write");
        let database = Database::kept_elsewhere(&url);
        let app = TestApp::at(&address(&database), database).await;
        app.order("#1001", 1_000_000_000).await;
        let (books, person) = (app.books(), app.person(Role::Approver).await);
        // What is answered is with the follower.
        primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'");
        primary.run("SELECT pg_reload_conf()");

        let (is_over, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let callers = app.agent.processes(CALLERS).into_iter().zip(person.windows(CALLERS)).enumerate();
        let callers: Vec<JoinHandle<Told>> = callers
            .map(|(caller, (agent, person))| {
                tokio::spawn(go_on(caller, agent, person, Arc::clone(&is_over), Arc::clone(&done)))
            })
            .collect();
        until(&done, 10 * CALLERS).await;
        let dead = Instant::now();
        let _port = primary.kill();
        tokio::time::sleep(Duration::from_millis(300)).await;
        follower.promote();
        until(&done, done.load(Ordering::SeqCst) + 10 * CALLERS).await;
        let back = dead.elapsed();
        is_over.store(true, Ordering::SeqCst);

        let (mut all, mut unknown) = (0, 0);
        for caller in callers {
            let told = caller.await.unwrap();
            for action in &told.actions {
                assert_eq!(person.action(action).await["status"], "executed", "{action}");
            }
            all += told.actions.len();
            unknown += told.unknown;
        }
        books.balance();
        let stored = app.rival().count("actions", "status = 'executed'");
        assert_eq!(usize::try_from(stored).unwrap(), all, "each once");
        figure(&format!(
            "failover: {all} requests and as many approvals, {unknown} of them told to ask again, back after {back:.1?}"
        ));
        app.tear_down().await;
    });
}

/// What a caller was told in the end.
struct Told {
    actions: Vec<String>,
    /// How many calls were told to be repeated.
    unknown: usize,
}

/// Asks for one refund after the other and approves each, repeating whatever was not answered.
async fn go_on(
    caller: usize,
    agent: Agent,
    person: Person,
    is_over: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
) -> Told {
    let mut told = Told {
        actions: Vec::new(),
        unknown: 0,
    };
    for call in 0.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let arguments = with_key(refund("#1001", 1 + call * CALLERS + caller), format!("{caller}.{call}"));
        let asked = loop {
            let answer = agent.call("request_refund", arguments.clone()).await;
            if !answer.is_error {
                break answer.body;
            }
            told.unknown += again(answer.code(), &answer.body).await;
        };
        approve(&person, id(&asked), &mut told).await;
        told.actions.push(id(&asked).to_owned());
        done.fetch_add(1, Ordering::SeqCst);
    }
    told
}

async fn approve(person: &Person, action: &str, told: &mut Told) {
    loop {
        let seen = person.get(&format!("/actions/{action}")).await;
        if seen.status != 200 {
            told.unknown += again(seen.code(), &seen.body).await;
            continue;
        }
        let mut seen = seen.body;
        seen.as_object_mut().unwrap().remove("subject_versions");
        let reply = person.approve_as_seen(&seen).await;
        if reply.status == 200 {
            assert_eq!(reply.body["status"], "executed");
            return;
        }
        if reply.code() == "already_decided" {
            assert_eq!(reply.body["winner"]["status"], "executed", "{reply:?}");
            return;
        }
        told.unknown += again(reply.code(), &reply.body).await;
    }
}

/// A call that has to be repeated, and how often that is one.
async fn again(code: &str, body: &Value) -> usize {
    assert_eq!(code, "unavailable", "{body}");
    tokio::time::sleep(Duration::from_millis(20)).await;
    1
}

async fn until(done: &AtomicUsize, count: usize) {
    let patience = Instant::now() + Duration::from_secs(60);
    while done.load(Ordering::SeqCst) < count {
        assert!(Instant::now() < patience, "only {} of {count} are done", done.load(Ordering::SeqCst));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
