//! A database that is away: everybody is told `unavailable`, the process lives, and recovers by itself.

use std::time::{Duration, Instant};

use countersign::store::people::Role;

use crate::support::app::Server;
use crate::support::cable::Cable;
use crate::support::run::run;
use crate::support::settings::figure;
use crate::support::shop::refund;
use crate::support::{Backend, TestApp};

#[test]
fn a_database_goes_away_and_comes_back() {
    run(Backend::Postgres, async |backend: &Backend| {
        let database = backend.fresh_database();
        let mut cable = Cable::to(&database).await;
        let app = TestApp::through(&cable, database).await;
        let (person, books) = (app.person(Role::Approver).await, app.books());
        let session = app.session(person).await;
        app.order("#1001", 50_000).await;
        let action = app.ask("request_refund", refund("#1001", 12_000)).await;
        let seen = person.action(&action).await;
        let before = app.rival().everything();

        cable.pull().await;
        let request = app.agent.calling("request_refund", &refund("#1001", 100));
        let (ready, alive) = (status(&app, "/readyz"), status(&app, "/healthz"));
        let (answer, reply, page, ready, alive) =
            tokio::join!(request, person.approving(&seen), session.approving(&seen), ready, alive);
        assert_eq!(answer.code(), "unavailable");
        assert_eq!((reply.status.as_u16(), reply.code()), (503, "unavailable"));
        assert_eq!((page.status.as_u16(), ready, alive), (503, 503, 200));
        assert_eq!(app.rival().everything(), before);

        let begun = Instant::now();
        cable.plug_in().await;
        while status(&app, "/readyz").await != 200 {
            assert!(begun.elapsed() < Duration::from_secs(30), "it does not recover");
        }
        figure(&format!("a database that came back: used again after {:.1?}", begun.elapsed()));
        assert_eq!(person.approve_as_seen(&seen).await.ok()["status"], "executed");
        assert_eq!(app.agent.call("request_refund", refund("#1001", 100)).await.ok()["disposition"], "new");
        books.balance();
        app.leave().await;
    });
}

#[test]
fn a_process_outlives_an_absent_database() {
    run(Backend::Postgres, async |backend: &Backend| {
        let database = backend.fresh_database();
        let mut cable = Cable::to(&database).await;
        cable.pull().await;
        let server = Server::through(&cable, &database);
        let status =
            async |path: &str| reqwest::get(format!("{}{path}", server.url)).await.unwrap().status().as_u16();
        assert_eq!((status("/healthz").await, status("/readyz").await), (200, 503));
        cable.plug_in().await;
        let begun = Instant::now();
        while status("/readyz").await != 200 {
            assert!(begun.elapsed() < Duration::from_secs(30), "it does not recover");
        }
        server.stop().await;
    });
}

async fn status(app: &TestApp, path: &str) -> u16 {
    reqwest::get(format!("{}{path}", app.url)).await.unwrap().status().as_u16()
}
