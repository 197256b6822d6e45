//! The database goes away under a running server, and comes back.

use std::time::{Duration, Instant};

use countersign::store::people::Role;
use countersign::workflow::PauseTarget;
use futures_util::future::join_all;
use reqwest::StatusCode;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::app::Server;
use crate::support::cable::Cable;
use crate::support::failpoints::Failpoints;
use crate::support::http;
use crate::support::program::Program;
use crate::support::rival::Rival;
use crate::support::run::{Fixture, run};
use crate::support::settings::figure;
use crate::support::shop::refund;
use crate::support::{Backend, Fault, Post, TestApp};

#[test]
fn nothing_is_done_while_the_database_is_away_and_all_goes_on_when_it_is_back() {
    run(Backend::Postgres, async |backend: &Backend| {
        let app = TestApp::set_up(*backend).await;
        app.order("#1001", 90_000).await;
        let approver = app.person(Role::Approver).await;
        let asked = app.agent.call("request_refund", refund("#1001", 100)).await.ok();
        let seen = approver.action(asked["action_id"].as_str().unwrap()).await;
        let before = app.rows().await;

        app.database.let_in(false);
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let (read, write, list, approval, ready) = tokio::join!(
            app.agent.call("get_order", json!({ "order_id": "1001" })),
            app.agent.call("request_refund", refund("#1001", 200)),
            app.agent.post(list.to_string()),
            approver.approve_as_seen(&seen),
            status(&app.url, "/readyz"),
        );
        for answer in [read, write] {
            assert_eq!(answer.code(), "unavailable");
            assert_eq!(answer.body["error"]["retry_after_seconds"], 1);
            keeps_quiet(&answer.body.to_string());
        }
        assert!(list.1.contains("unavailable") && list.0 == StatusCode::OK, "{}", list.1);
        keeps_quiet(&list.1);
        assert_eq!((approval.status, approval.code()), (StatusCode::SERVICE_UNAVAILABLE, "unavailable"));
        keeps_quiet(&approval.body.to_string());
        assert_eq!(ready, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(status(&app.url, "/healthz").await, StatusCode::OK, "the process is alive");

        app.database.let_in(true);
        until_ready(&app.url).await;
        assert_eq!(app.grown_since(&before).await, [], "nothing was done");
        let again = app.agent.call("request_refund", refund("#1001", 200)).await.ok();
        assert_eq!(again["disposition"], "new");
        assert_eq!(approver.approve_as_seen(&seen).await.ok()["status"], "executed");
        app.tear_down().await;
    });
}

#[test]
fn a_server_whose_cable_is_pulled_recovers_by_itself() {
    run(Backend::Postgres, async |backend: &Backend| {
        let database = backend.fresh_database();
        let mut cable = Cable::to(&database).await;
        let app = TestApp::through(&cable, database).await;
        let (person, books) = (app.person(Role::Approver).await, app.books());
        let session = app.session(person).await;
        app.order("#1001", 90_000).await;
        let action = app.ask("request_refund", refund("#1001", 100)).await;
        let seen = person.action(&action).await;
        let before = app.rival().everything();

        cable.pull().await;
        let request = app.agent.calling("request_refund", &refund("#1001", 200));
        let (answer, reply, page, ready) = tokio::join!(
            request,
            person.approving(&seen),
            session.approving(&seen),
            status(&app.url, "/readyz")
        );
        assert_eq!((answer.code(), reply.code()), ("unavailable", "unavailable"));
        assert_eq!((page.status, ready), (StatusCode::SERVICE_UNAVAILABLE, StatusCode::SERVICE_UNAVAILABLE));
        assert_eq!(app.rival().everything(), before);

        cable.plug_in().await;
        figure(&format!("a pulled cable, plugged in: ready after {:.1?}", until_ready(&app.url).await));
        assert_eq!(person.approve_as_seen(&seen).await.ok()["status"], "executed");
        app.ask("request_refund", refund("#1001", 200)).await;
        books.balance();
        app.tear_down().await;
    });
}

#[test]
fn connections_on_which_nothing_is_said_any_more_are_given_up() {
    run(Backend::Postgres, async |backend: &Backend| {
        let database = backend.fresh_database();
        let cable = Cable::to(&database).await;
        let app = TestApp::through(&cable, database).await;
        let (person, books) = (app.person(Role::Approver).await, app.books());
        app.order("#1001", 90_000).await;
        let action = app.ask("request_refund", refund("#1001", 100)).await;
        let seen = person.action(&action).await;
        let before = app.rival().everything();

        cable.hold_what_stands();
        let probes = (0..9).map(|_| status(&app.url, "/readyz"));
        let request = app.agent.calling("request_refund", &refund("#1001", 300));
        // Each probe is answered, by a new connection or at the end of the silence.
        let (answer, reply, _) = tokio::join!(request, person.approving(&seen), join_all(probes));
        assert_eq!((answer.code(), reply.code()), ("unavailable", "unavailable"));
        assert_eq!(app.rival().everything(), before);

        until_ready(&app.url).await;
        assert_eq!(person.approve_as_seen(&seen).await.ok()["status"], "executed");
        app.ask("request_refund", refund("#1001", 200)).await;
        let decided = app.rival().everything();
        cable.speak_again();
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(app.rival().everything(), decided, "nothing of it is done late");
        books.balance();
        app.tear_down().await;
    });
}

#[test]
fn a_process_that_stands_still_in_a_transaction_holds_up_an_owner_for_no_longer_than_that_may_idle() {
    run(Backend::Postgres, async |backend: &Backend| {
        let (app, failpoints) = (TestApp::set_up(*backend).await, Failpoints::new());
        app.order("#1001", 90_000).await;
        let program = Program::on(&app.database).with("FAILPOINTS", failpoints.folder());
        let served = program.serve(&["serve", "--listen", "127.0.0.1:0"]);
        failpoints.arm("action");
        let request =
            tokio::spawn(app.agent.at(&served.url).calling("request_refund", &refund("#1001", 100)));
        failpoints.until_reached("action").await;

        let (begun, gate) = (Instant::now(), &app.inner.gate);
        while gate.set_pause_as_operator(PauseTarget::Everything, true).await.is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "nobody can pause");
        }
        failpoints.release("action");
        assert!(["unavailable", "paused"].contains(&request.await.unwrap().code()));
        assert_eq!(app.rival().count("actions", "1 = 1"), 0);
        drop(served);
        app.tear_down().await;
    });
}

#[test]
fn a_server_starts_without_its_database() {
    run(Backend::Postgres, async |backend: &Backend| {
        let database = backend.fresh_database();
        let mut cable = Cable::to(&database).await;
        cable.pull().await;
        let server = Server::through(&cable, &database);
        assert_eq!(status(&server.url, "/readyz").await, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(status(&server.url, "/healthz").await, StatusCode::OK);
        cable.plug_in().await;
        until_ready(&server.url).await;
        server.stop().await;
    });
}

#[test]
fn a_server_stops_in_time_without_its_database() {
    run(Backend::Postgres, async |backend: &Backend| {
        let database = backend.fresh_database();
        let mut cable = Cable::to(&database).await;
        let program = Program::on(&database).with("DATABASE_URL", &cable.url);
        let agent = program.run(&["agent", "add", "--name", "a", "--scope", "orders:read", "--json"]).json();
        let served = program.serve(&["serve", "--listen", "127.0.0.1:0"]);
        let (url, http) = (format!("{}/mcp", served.url), http::client());
        // Refusals to be counted, and a message that never ends.
        for _ in 0..3 {
            let refused = http.post(&url).bearer_auth("no key of ours").body("{}").send().await.unwrap();
            assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
        }
        let mut slow = TcpStream::connect(&served.url["http://".len()..]).await.unwrap();
        let key = agent["key"].as_str().unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nContent-Length: 99\r\n\r\n"
        );
        slow.write_all(head.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
        cable.pull().await;

        let stopped = tokio::task::spawn_blocking(move || served.stop("TERM"));
        let (code, took) = stopped.await.unwrap();
        assert_eq!(code, Some(0));
        assert!(took < Duration::from_secs(10), "{took:?}");
    });
}

#[test]
fn a_server_that_sends_mail_stops_in_time_when_its_database_falls_silent() {
    run(Backend::Postgres, async |backend: &Backend| {
        let (database, post) = (backend.fresh_database(), Post::open());
        let mut cable = Cable::to(&database).await;
        let program = Program::on(&database).with("DATABASE_URL", &cable.url).with("SMTP_URL", &post.url);
        let served = program.serve(&["serve", "--listen", "127.0.0.1:0"]);
        cable.fall_silent();
        // Every worker looks once a second, and waits for an answer by then.
        tokio::time::sleep(Duration::from_millis(1500)).await;

        let mut stopped = tokio::task::spawn_blocking(move || served.stop("TERM"));
        let in_time = tokio::time::timeout(Duration::from_secs(10), &mut stopped).await;
        cable.pull().await;
        let (code, _) = in_time.expect("it is killed before it has stopped").unwrap();
        assert_eq!(code, Some(0));
    });
}

#[test]
fn a_server_that_sends_mail_stops_in_time_while_somebody_holds_its_database() {
    run(Backend::Sqlite, async |backend: &Backend| {
        let (app, post) = (TestApp::set_up(*backend).await, Post::open());
        app.person(Role::Approver).await;
        app.order("#1001", 90_000).await;
        app.ask("request_refund", refund("#1001", 100)).await;
        let database = app.leave().await;
        post.does(Fault::Hang);
        let program = Program::on(&database).with("SMTP_URL", &post.url);
        let served = program.serve(&["serve", "--listen", "127.0.0.1:0"]);
        post.mails_when(1).await;
        let mut rival = Rival::on(&database);
        rival.begin("UPDATE outbox SET due_at = due_at");

        let (code, took) = tokio::task::spawn_blocking(move || served.stop("TERM")).await.unwrap();
        post.let_go();
        assert_eq!(code, Some(0));
        assert!(took < Duration::from_secs(10), "{took:?}");
    });
}

async fn status(url: &str, path: &str) -> StatusCode {
    reqwest::get(format!("{url}{path}")).await.unwrap().status()
}

/// Waits until the server is ready, and answers how long that took.
async fn until_ready(url: &str) -> Duration {
    let begun = Instant::now();
    while status(url, "/readyz").await != StatusCode::OK {
        assert!(begun.elapsed() < Duration::from_secs(15), "it does not recover");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    begun.elapsed()
}

fn keeps_quiet(text: &str) {
    for word in ["FATAL", "connection", "postgres", "socket", "server closed"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}
