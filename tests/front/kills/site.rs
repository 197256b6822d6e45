//! The built program on a database of its own, which nobody else holds open.

use std::time::{Duration, Instant};

use countersign::store::people::Role;

use super::load::Callers;
use crate::support::books::Books;
use crate::support::program::{Program, Served};
use crate::support::rival::Rival;
use crate::support::run::Fixture;
use crate::support::settings::rounds;
use crate::support::{Agent, Backend, Database, Person, TestApp};

pub struct Site {
    pub books: Books,
    pub agent: Agent,
    pub person: Person,
    program: Program,
    serving: Option<Served>,
    /// How long each start took until the program was ready.
    starts: Vec<Duration>,
    pub database: Database,
}

impl Site {
    /// With an order for each round, `#0` and so on.
    pub async fn new(backend: Backend, full_rounds: usize) -> Self {
        let app = TestApp::set_up(backend).await;
        app.product("SKU-1", 1_000_000).await;
        for number in 0..rounds(full_rounds) {
            app.order(&format!("#{number}"), 1_000_000_000).await;
        }
        let (agent, person) = (app.agent.clone(), app.person(Role::Approver).await.clone());
        let database = app.leave().await;
        let program = Program::on(&database)
            .with("COUNTERSIGN_LISTEN", "127.0.0.1:0")
            .with("COUNTERSIGN_READ_RATE", "off")
            .with("COUNTERSIGN_WRITE_RATE", "off");
        let mut site = Self {
            books: Books::open(&database),
            agent,
            person,
            program,
            serving: None,
            starts: Vec::new(),
            database,
        };
        site.start().await;
        site
    }

    /// Starts the program, and waits until it is ready.
    pub async fn start(&mut self) {
        let begun = Instant::now();
        let server = self.program.serve(&["serve"]);
        let ready = reqwest::get(format!("{}/readyz", server.url)).await.unwrap();
        assert_eq!(ready.status(), 200);
        self.starts.push(begun.elapsed());
        self.serving = Some(server);
    }

    /// Sends the program a signal. Answers its exit code, and how long it took to end.
    pub fn stop(&mut self, signal: &str) -> (Option<i32>, Duration) {
        self.serving.take().unwrap().stop(signal)
    }

    /// Everybody who calls the program that runs now.
    pub fn callers(&self) -> Callers {
        Callers::at(self.url(), &self.agent, &self.person)
    }

    /// Waits until a write of the program waits for a lock.
    pub async fn until_blocked(&self) {
        let (patience, mut watcher) = (Instant::now() + Duration::from_secs(10), Rival::on(&self.database));
        loop {
            let metrics =
                reqwest::get(format!("{}/metrics", self.url())).await.unwrap().text().await.unwrap();
            let is_writing = metrics.contains("\ncountersign_writes_under_way 1\n");
            if is_writing && watcher.waiters().is_none_or(|waiters| waiters == 1) {
                return;
            }
            assert!(Instant::now() < patience, "no write waits: {metrics}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// What the starts after the first took, in words.
    pub fn recoveries(&self) -> String {
        let mut recoveries = self.starts[1..].to_vec();
        recoveries.sort();
        let (median, longest) = (recoveries[recoveries.len() / 2], recoveries.last().unwrap());
        format!("{median:.0?}, {longest:.0?} at most")
    }

    fn url(&self) -> &str {
        &self.serving.as_ref().unwrap().url
    }
}
