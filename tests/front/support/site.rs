//! The built program on a database of its own, which nobody else holds open.

use std::time::{Duration, Instant};

use countersign::store::people::Role;

use super::books::Books;
use super::failpoints::Failpoints;
use super::program::{Program, Served};
use super::rival::Rival;
use super::run::Fixture;
use super::settings::rounds;
use super::{Agent, Backend, Database, Person, TestApp};

pub struct Site {
    pub books: Books,
    pub failpoints: Failpoints,
    agent: Agent,
    person: Person,
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
        let failpoints = Failpoints::new();
        let program = Program::on(&database)
            .with("FAILPOINTS", failpoints.folder())
            .with("COUNTERSIGN_LISTEN", "127.0.0.1:0")
            .with("COUNTERSIGN_READ_RATE", "off")
            .with("COUNTERSIGN_WRITE_RATE", "off");
        let mut site = Self {
            books: Books::open(&database),
            failpoints,
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

    /// One more process on the same database.
    pub fn another(&self) -> Served {
        self.program.serve(&["serve"])
    }

    /// Starts the program behind another one that may make it fail. Whether it came so far as to serve.
    pub fn start_through(&mut self, words: &[&str]) -> bool {
        self.program.go_through(words);
        self.serving = self.program.try_to_serve(&["serve"]).ok();
        self.program.go_through(&[]);
        self.serving.is_some()
    }

    /// Sends the program a signal. Answers its exit code, and how long it took to end.
    pub fn stop(&mut self, signal: &str) -> (Option<i32>, Duration) {
        self.serving.take().unwrap().stop(signal)
    }

    /// The agent, as it calls the program that runs now, with connections of its own.
    pub fn agent(&self) -> Agent {
        self.agent.at(self.url())
    }

    /// The person, likewise.
    pub fn person(&self) -> Person {
        self.person.at(self.url())
    }

    /// Waits until nothing is being written.
    pub async fn until_quiet(&self) {
        let patience = Instant::now() + Duration::from_secs(10);
        while self.writes_under_way().await > 0 {
            assert!(Instant::now() < patience, "a write does not end");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn writes_under_way(&self) -> usize {
        let metrics = reqwest::get(format!("{}/metrics", self.url())).await.unwrap().text().await.unwrap();
        let line = metrics.lines().find_map(|line| line.strip_prefix("countersign_writes_under_way "));
        line.unwrap_or_else(|| panic!("{metrics}")).parse().unwrap()
    }

    /// Waits until a write of the program waits for a lock.
    pub async fn until_blocked(&self) {
        let (patience, mut watcher) = (Instant::now() + Duration::from_secs(10), Rival::on(&self.database));
        loop {
            let writes = self.writes_under_way().await;
            if writes == 1 && watcher.waiters().is_none_or(|waiters| waiters == 1) {
                return;
            }
            assert!(Instant::now() < patience, "{writes} writes, and not one that waits");
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

    pub fn pid(&self) -> u32 {
        self.serving.as_ref().unwrap().pid()
    }

    pub fn url(&self) -> &str {
        &self.serving.as_ref().unwrap().url
    }
}
