//! What is restored from a copy is paused, because it has forgotten what was executed since.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use countersign::store::people::Role;
use reqwest::StatusCode;
use serde_json::Value;

use super::{copy_of, path};
use crate::support::program::{Program, Served};
use crate::support::rival::Rival;
use crate::support::run::{run, run_in_browser};
use crate::support::shop::{id, refund};
use crate::support::{Agent, Backend, Browser, Database, Person, TestApp};

const SERVE: &[&str] = &["serve", "--listen", "127.0.0.1:0"];

/// A copy from between two executions, served by the program.
struct Restored {
    copy: Database,
    program: Program,
    served: Served,
    agent: Agent,
    approver: Person,
    owner: Person,
    /// A request that waited at the moment of the copy, and was executed after it.
    waiting: String,
}

impl Restored {
    async fn set_up(app: &TestApp) -> Self {
        app.order("#1001", 50_000).await;
        let (approver, owner) = (app.person(Role::Approver).await, app.person(Role::Owner).await);
        let known = app.ask("request_refund", refund("#1001", 100)).await;
        approver.approve(&known).await.ok();
        let waiting = app.ask("request_refund", refund("#1001", 200)).await;
        let copy = copy_of(&app.database);
        let unknown = app.ask("request_refund", refund("#1001", 400)).await;
        for action in [&waiting, &unknown] {
            assert_eq!(approver.approve(action).await.ok()["status"], "executed");
        }
        assert_eq!(app.order_now("#1001").await.refunded_minor, 700, "the original goes on");
        let program = Program::on(&copy);
        let served = program.serve(SERVE);
        Self {
            agent: app.agent.at(&served.url),
            approver: approver.at(&served.url),
            owner: owner.at(&served.url),
            copy,
            program,
            served,
            waiting,
        }
    }

    fn refunded(&self) -> i64 {
        Rival::on(&self.copy).number("SELECT refunded_minor AS n FROM orders WHERE name = '#1001'")
    }

    /// Nothing of what the original executed is executed here.
    async fn is_paused(&self) {
        for amount in [100, 200, 400] {
            let answer = self.agent.call("request_refund", refund("#1001", amount)).await;
            if amount == 200 {
                let joined = answer.ok();
                assert_eq!((&joined["disposition"], id(&joined)), (&"joined".into(), &*self.waiting));
                continue;
            }
            assert_eq!(answer.code(), "paused", "{amount}");
            let message = answer.body["error"]["message"].as_str().unwrap();
            assert!(message.contains("restored from a backup"), "{message}");
        }
        let held = self.approver.approve(&self.waiting).await;
        assert_eq!((held.status, held.code()), (StatusCode::CONFLICT, "paused"));
        assert!(held.body["detail"].as_str().unwrap().contains("restored from a backup"), "{held:?}");
        assert_eq!(self.refunded(), 100);
    }

    /// What was forgotten can be asked for and approved once more.
    async fn is_resumed(&self) {
        let asked = self.agent.call("request_refund", refund("#1001", 400)).await.ok();
        assert_eq!(asked["disposition"], "new");
        self.approver.approve(id(&asked)).await.ok();
        assert_eq!(self.refunded(), 500);
        assert!(!self.program.run(&["check", "--listen", "127.0.0.1:0"]).ok().contains("Paused"));
    }

    fn last_event(&self) -> Value {
        let mut rival = Rival::on(&self.copy);
        let found = rival.texts(
            "SELECT body AS t FROM audit_events WHERE event IN ('pause', 'resume') ORDER BY seq DESC LIMIT 1",
        );
        serde_json::from_str(&found[0]).unwrap()
    }
}

#[test]
fn what_was_forgotten_is_not_executed_again_until_somebody_resumes() {
    run(Backend::Sqlite, async |app: &TestApp| {
        let restored = Restored::set_up(app).await;
        restored.is_paused().await;
        let said = restored.program.run(&["check", "--listen", "127.0.0.1:0"]).ok();
        let line = said.lines().find(|line| line.starts_with("Paused")).unwrap();
        is_told(line, &restored.copy);

        assert_eq!(restored.program.run(&["resume"]).ok(), "Resumed everything.\n");
        let event = restored.last_event();
        assert_eq!((&event["event"], &event["door"]), (&"resume".into(), &"command_line".into()));
        restored.is_resumed().await;
    });
}

#[test]
fn an_owner_sees_why_and_resumes_in_the_browser() {
    run_in_browser(Backend::Sqlite, async |app: &TestApp, _: &Browser| {
        let restored = Restored::set_up(app).await;
        let window = async |person: &Person| {
            let browser = Browser::open(&restored.served.url).await;
            browser.sign_in(person).await;
            browser
        };
        let approver = window(&restored.approver).await;
        for page in ["/", "/actions", "/orders"] {
            approver.goto(page).await;
            is_told(&approver.text_of(".banner").await, &restored.copy);
            assert_eq!(approver.count(".banner button").await, 0, "only owners resume");
        }
        approver.close().await;

        let owner = window(&restored.owner).await;
        owner.goto("/agents").await;
        is_told(&owner.text_of(".banner").await, &restored.copy);
        restored.is_paused().await;
        owner.click("Resume").await;
        owner.see("Pause everything").await;
        assert_eq!(owner.count(".banner").await, 0);
        let event = restored.last_event();
        assert_eq!((&event["event"], &event["door"]), (&"resume".into(), &"browser".into()));
        owner.goto("/audit").await;
        owner.see("resumed").await;
        owner.close().await;
        restored.is_resumed().await;
    });
}

#[test]
fn a_server_says_at_its_start_why_everything_is_paused() {
    let database = Backend::Sqlite.fresh_database();
    let copy = copy_of(&database);
    let begins = |database: &Database| {
        let program = Program::on(database);
        let mut serving = program.command(SERVE).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(serving.stderr.take().unwrap()).lines();
        let begin: Vec<_> =
            log.by_ref().map(Result::unwrap).take_while(|line| !line.contains("serving")).collect();
        serving.kill().unwrap();
        serving.wait().unwrap();
        begin
    };
    assert_eq!(begins(&database), Vec::<String>::new());
    let begin = begins(&copy);
    assert!(begin.len() == 1 && begin[0].contains("WARN"), "{begin:?}");
    is_told(&begin[0], &copy);
}

#[test]
fn a_pause_that_was_in_force_stays_and_has_a_reason_more() {
    run(Backend::Sqlite, async |app: &TestApp| {
        let owner = app.session(app.person(Role::Owner).await).await;
        owner.submit("/pause", &[("target", "all")]).await;
        owner.submit("/pause", &[("target", "kind:refund")]).await;
        let rows = |database: &Database| {
            Rival::on(database).texts(
                "SELECT target || ' ' || coalesce(paused_by, 'nobody') || ' ' || paused_at AS t FROM pauses ORDER BY target",
            )
        };
        let (before, copy) = (rows(&app.database), copy_of(&app.database));
        assert_eq!((rows(&app.database), rows(&copy)), (before.clone(), before));
        assert_eq!(app.rival().count("pauses", "restored_from IS NOT NULL"), 0);
        let mut rival = Rival::on(&copy);
        assert_eq!(rival.count("pauses", "restored_from IS NOT NULL AND target = 'all'"), 1);
        assert_eq!(rival.count("pauses", "restored_from IS NOT NULL"), 1);
    });
}

#[test]
fn a_copy_of_a_copy_lacks_what_the_first_one_lacks() {
    let database = Backend::Sqlite.fresh_database();
    let moment = |copy: &Database| Rival::on(copy).texts("SELECT restored_from AS t FROM pauses");
    let first = copy_of(&database);
    let second = copy_of(&first);
    assert_eq!(moment(&second), moment(&first));
    Program::on(&second).run(&["resume"]).ok();
    assert_ne!(moment(&copy_of(&second)), moment(&first), "an owner has seen to what that one lacked");
}

#[test]
fn a_copy_beside_the_log_of_another_database_is_not_touched() {
    let database = Backend::Sqlite.fresh_database();
    let program = Program::on(&database);
    let copy = copy_of(&database);
    let served = program.serve(SERVE);
    program.run(&["agent", "add", "--name", "late", "--scope", "orders:read"]).ok();
    served.stop("KILL");
    let file = path(&database);
    let [log, shared] = ["-wal", "-shm"].map(|end| format!("{file}{end}"));
    assert!(fs::metadata(&log).unwrap().len() > 0, "a server that is killed leaves its log");
    fs::copy(path(&copy), file).unwrap();

    let files = || [file, &log].map(|file| fs::read(file).unwrap());
    let before = files();
    for command in [&["check", "--listen", "127.0.0.1:0"][..], &["agent", "list"], &["migrate"]] {
        let said = program.run(command);
        assert_eq!(said.code, Some(1), "{command:?}: {said:?}");
        let told = format!("{}{}", said.out, said.err);
        assert!(told.contains(&log) && told.contains("would destroy the copy"), "{command:?}: {told}");
        assert!(files() == before, "{command:?}");
    }
    let refused = |program: &Program| match program.try_to_serve(SERVE) {
        Ok(served) => panic!("it serves at {}", served.url),
        Err(printed) => assert!(printed.contains(&log), "{printed}"),
    };
    refused(&program);
    // SQLite follows a link to where the file is, and its log.
    let link = program.folder.path().join("link.db");
    std::os::unix::fs::symlink(file, &link).unwrap();
    refused(&Program::on(&database).with("DATABASE_URL", &format!("sqlite://{}", link.display())));
    assert!(files() == before);
    for left in [&log, &shared] {
        fs::remove_file(left).unwrap();
    }
    program.serve(SERVE);
    let mut restored = Rival::on(&database);
    assert_eq!(restored.texts("SELECT integrity_check AS t FROM pragma_integrity_check"), ["ok"]);
    assert_eq!(
        (
            restored.count("agents", "name = 'late'"),
            restored.count("pauses", "restored_from IS NOT NULL")
        ),
        (0, 1)
    );
}

#[test]
fn a_copy_beside_the_journal_of_another_database_is_not_touched() {
    let database = Backend::Sqlite.fresh_database();
    let copy = copy_of(&database);
    let (program, file) = (Program::on(&copy), path(&copy));
    // As a process leaves it that is killed while it first uses a database of ten pages.
    let numbers: Vec<u8> =
        [0_u32, 1, 10, 512, 4_096].iter().flat_map(|number| number.to_be_bytes()).collect();
    let journal = [&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7][..], &numbers, &[0; 484]].concat();
    fs::write(format!("{file}-journal"), &journal).unwrap();
    let before = fs::read(file).unwrap();
    for command in [&["check", "--listen", "127.0.0.1:0"][..], &["agent", "list"], &["migrate"]] {
        let said = program.run(command);
        let told = format!("{}{}", said.out, said.err);
        assert!(said.code == Some(1) && told.contains("-journal, with which"), "{command:?}: {said:?}");
        assert!(fs::read(file).unwrap() == before, "{command:?}");
    }
    fs::remove_file(format!("{file}-journal")).unwrap();
    program.serve(SERVE);
}

#[test]
fn a_log_that_was_left_behind_is_not_thrown_away() {
    let database = Backend::Sqlite.fresh_database();
    let program = Program::on(&database);
    let served = program.serve(SERVE);
    program.run(&["agent", "add", "--name", "late", "--scope", "orders:read"]).ok();
    served.stop("KILL");
    let file = path(&database);
    let log = format!("{file}-wal");
    let written = fs::read(&log).unwrap();
    assert!(!written.is_empty());
    let moved = format!("{file}.moved");
    fs::rename(file, &moved).unwrap();
    for empty in [false, true] {
        if empty {
            fs::write(file, "").unwrap();
        }
        assert!(program.try_to_serve(SERVE).is_err_and(|printed| printed.contains(&log)));
        for command in [&["check", "--listen", "127.0.0.1:0"][..], &["migrate"], &["agent", "list"]] {
            let said = program.run(command);
            let told = format!("{}{}", said.out, said.err);
            assert!(said.code == Some(1) && told.contains(&log), "{command:?}: {said:?}");
            assert!(fs::read(&log).unwrap() == written, "{command:?}");
        }
    }
    fs::rename(&moved, file).unwrap();
    assert!(program.run(&["agent", "list"]).ok().contains("late"));
}

/// In words, and from which moment.
#[track_caller]
fn is_told(text: &str, copy: &Database) {
    let moment = Rival::on(copy).texts(
        "SELECT strftime('%d', restored_from) || strftime(' %Y %H:%M', restored_from) AS t FROM pauses",
    );
    let (day, rest) = moment[0].split_once(' ').unwrap();
    for part in ["restored from a backup of ", "what was executed since then is not in it", rest] {
        assert!(text.contains(part), "{text}");
    }
    assert!(
        text.contains(&format!("backup of {} ", day.trim_start_matches('0'))),
        "{text} of {}",
        path(copy)
    );
}
