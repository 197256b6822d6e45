//! What a copy holds, and what making it does to the original and to whoever uses it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use countersign::store::people::Role;

use super::{back_up, copy_of, path};
use crate::append_only::{attempts, log};
use crate::support::rival::Rival;
use crate::support::run::run;
use crate::support::settings::figure;
use crate::support::shop::refund;
use crate::support::{Agent, Backend, Database, Person, TestApp};

#[test]
fn a_copy_is_made_while_agents_ask_and_people_decide() {
    run(Backend::Sqlite, async |app: &TestApp| {
        for caller in 0..CALLERS {
            app.order(&format!("#{caller}"), 1_000_000_000).await;
        }
        // So much that calls go on while it is copied.
        app.rival().run(
            "CREATE TABLE ballast AS WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1500)
             SELECT randomblob(65536) AS weight FROM n",
        );
        let is_over = Arc::new(AtomicBool::new(false));
        let person = app.person(Role::Approver).await.windows(CALLERS);
        let callers: Vec<_> = app
            .agent
            .processes(CALLERS)
            .into_iter()
            .zip(person)
            .enumerate()
            .map(|(number, (agent, person))| tokio::spawn(load(agent, person, number, is_over.clone())))
            .collect();
        tokio::time::sleep(Duration::from_millis(300)).await;

        let copy = Backend::Sqlite.empty_database();
        let from = Instant::now();
        tokio::task::block_in_place(|| back_up(&app.database, &copy)).ok();
        let until = Instant::now();
        tokio::time::sleep(Duration::from_millis(100)).await;
        is_over.store(true, Ordering::SeqCst);
        let mut calls = Vec::new();
        for caller in callers {
            calls.extend(caller.await.unwrap());
        }

        let within = calls.iter().filter(|(begun, ended)| *begun >= from && *ended <= until);
        let (count, longest) =
            (within.clone().count(), calls.iter().map(|(begun, ended)| *ended - *begun).max());
        assert!(count > 0, "nothing was answered during the copy, which took {:?}", until - from);
        figure(&format!(
            "backup of {} MB in {:.0?}: {count} calls answered meanwhile, the longest {:.0?}",
            fs::metadata(path(&copy)).unwrap().len() / 1_000_000,
            until - from,
            longest.unwrap()
        ));
        is_whole(&copy);
        app.books().balance();
        crate::support::books::Books::open(&copy).balance();
        let (copied, all) = (log(Rival::on(&copy)), log(app.rival()));
        assert!(
            all.starts_with(&copied[..copied.len() - 1]),
            "the log of one moment, and what the copy adds"
        );
        assert!(copied.len() > 1 && copied.len() < all.len());
    });
}

#[test]
fn a_copy_is_private_whole_and_alone() {
    run(Backend::Sqlite, async |app: &TestApp| {
        let copy = Backend::Sqlite.empty_database();
        let said = back_up(&app.database, &copy).ok();
        assert!(said.starts_with(&format!("{} is the database as of ", path(&copy))), "{said}");
        assert!(
            said.ends_with(" UTC. What is restored from it is paused until an owner resumes it.\n"),
            "{said}"
        );
        assert_eq!(fs::metadata(path(&copy)).unwrap().permissions().mode() & 0o777, 0o600);
        let folder = Path::new(path(&copy)).parent().unwrap();
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "neither a draft nor a journal");
        is_whole(&copy);
    });
}

#[test]
fn the_original_has_one_event_more_and_no_path() {
    run(Backend::Sqlite, async |app: &TestApp| {
        let before = app.rival().everything();
        let copy = copy_of(&app.database);
        let event = app.last_event().await;
        for (name, value) in [("event", "backup"), ("outcome", "done"), ("door", "command_line")] {
            assert_eq!(event[name], value);
        }
        assert_eq!(event["actor"]["kind"], "system");
        let members: Vec<_> = event.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["actor", "at", "denied", "door", "event", "id", "outcome"], "no path");
        let mut after = app.rival().everything();
        after.retain(|row| *row != format!("event {}", event["id"].as_str().unwrap()));
        assert_eq!(after, before);

        let pausing = log(Rival::on(&copy)).pop().unwrap();
        assert!(
            pausing.contains(r#""event":"pause""#) && pausing.contains(r#""target":"all""#),
            "{pausing}"
        );
        assert!(
            pausing.contains(&format!(r#""backup":{}"#, event["id"])),
            "it names what made it: {pausing}"
        );
    });
}

#[test]
fn the_log_of_a_copy_only_grows() {
    run(Backend::Sqlite, async |app: &TestApp| {
        app.order("#1001", 50_000).await;
        app.ask("request_refund", refund("#1001", 100)).await;
        let copy = copy_of(&app.database);
        let written = log(Rival::on(&copy));
        for attempt in attempts(Backend::Sqlite) {
            let refused = Rival::on(&copy).try_to(&attempt).expect_err(&attempt).to_string();
            assert!(refused.contains("append-only"), "{attempt}: {refused}");
            assert_eq!(log(Rival::on(&copy)), written, "{attempt}");
        }
        let last = Rival::on(&copy).number("SELECT max(seq) AS n FROM audit_events");
        crate::support::program::Program::on(&copy).run(&["resume"]).ok();
        assert_eq!(Rival::on(&copy).number("SELECT max(seq) AS n FROM audit_events"), last + 1);
    });
}

const CALLERS: usize = 4;

/// Asks for a refund and approves it, again and again. Answers when each call began and ended.
async fn load(
    agent: Agent,
    person: Person,
    number: usize,
    is_over: Arc<AtomicBool>,
) -> Vec<(Instant, Instant)> {
    let mut calls = Vec::new();
    for amount in 1.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let from = Instant::now();
        let asked = agent.call("request_refund", refund(&format!("#{number}"), amount)).await.ok();
        calls.push((from, Instant::now()));
        let from = Instant::now();
        let approved = person.approve(asked["action_id"].as_str().unwrap()).await.ok();
        assert_eq!(approved["status"], "executed");
        calls.push((from, Instant::now()));
    }
    calls
}

/// As SQLite sees it.
fn is_whole(copy: &Database) {
    let mut rival = Rival::on(copy);
    assert_eq!(rival.texts("SELECT integrity_check AS t FROM pragma_integrity_check"), ["ok"]);
    assert_eq!(rival.number("SELECT count(*) AS n FROM pragma_foreign_key_check"), 0);
    let triggers = "SELECT name AS t FROM sqlite_schema WHERE type = 'trigger' ORDER BY name";
    assert_eq!(rival.texts(triggers), Rival::on(&Backend::Sqlite.fresh_database()).texts(triggers));
}
