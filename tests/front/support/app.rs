//! The whole application on a database of its own, served on a port of its own.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use countersign::app::{self, App};
use countersign::auth::accounts::NewPerson;
use countersign::config::{Config, Rate};
use countersign::error::Error;
use countersign::kinds::Registry;
use countersign::store::people::Role;
use tokio::sync::{OnceCell, oneshot};

use super::cable::Cable;
use super::elsewhere::Elsewhere;
use super::run::{Fixture, Spread};
use super::{Agent, Backend, Database, Person, http};

/// A running Countersign with an empty shop, two agents, and people made as they are asked for.
pub struct TestApp {
    /// The application that is served. Its clock is the served one's: `app.time().shift(…)` moves both.
    pub inner: App,
    /// Where it is served, such as `http://127.0.0.1:40123`.
    pub url: String,
    /// An agent with every scope.
    pub agent: Agent,
    /// An agent that may only read.
    pub reader: Agent,
    people: [OnceCell<Person>; 4],
    http: reqwest::Client,
    server: Server,
    /// The other processes that agents and people act through, if there are any.
    pub elsewhere: Option<Arc<Elsewhere>>,
    pub database: Database,
}

/// Keys every token of the tests. Servers that share a database share it.
pub const SECRET: &str = "9b1d6f0c4a7e42b58c3d17f6e0a94b2c";

impl TestApp {
    /// With settings of one's own.
    pub async fn with(backend: Backend, configure: impl FnOnce(&mut Config)) -> Self {
        Self::on(backend.fresh_database(), configure, App::build).await
    }

    /// In several processes, all under one rate of writes.
    pub async fn on_several_processes(backend: Backend, write_rate: &str) -> Self {
        let rate = write_rate.parse().unwrap();
        Self::with(backend, |config| config.write_rate = rate).await.beside_others(write_rate)
    }

    /// Beside a second server and a program that speaks MCP over its standard input and output, which have a rate of writes of
    /// their own. An agent's processes and a person's windows spread over them.
    pub fn beside_others(mut self, write_rate: &str) -> Self {
        let settings = [("COUNTERSIGN_READ_RATE", "off"), ("COUNTERSIGN_WRITE_RATE", write_rate)];
        self.elsewhere = Some(Elsewhere::on(&self.database, &settings));
        for agent in [&mut self.agent, &mut self.reader] {
            agent.elsewhere.clone_from(&self.elsewhere);
        }
        self
    }

    /// On a database that was made ready for it.
    pub async fn on_database(database: Database) -> Self {
        Self::on(database, |_| {}, App::build).await
    }

    /// With kinds and read tools of one's own.
    pub async fn with_registry(backend: Backend, registry: Registry) -> Self {
        let build = |config| App::with_registry(config, registry);
        Self::on(backend.fresh_database(), |_| {}, build).await
    }

    /// On a database at the end of a cable. The tests look at it without one.
    pub async fn through(cable: &Cable, database: Database) -> Self {
        Self::at(&cable.url, database).await
    }

    /// On a database that it finds at another address. The tests look at it directly.
    pub async fn at(url: &str, database: Database) -> Self {
        Self::on(database, |config| config.database_url = url.parse().unwrap(), App::build).await
    }

    async fn on(database: Database, configure: impl FnOnce(&mut Config), build: impl Build) -> Self {
        let server = Server::start(&database, configure, build);
        let (inner, url) = (server.app.clone(), server.url.clone());
        let http = http::client();

        let scopes = inner.gate.registry.scopes();
        let reading: Vec<_> = scopes.iter().copied().filter(|scope| scope.ends_with(":read")).collect();
        let endpoint = format!("{url}/mcp");
        let agent = add_agent(&inner, &http, &endpoint, "assistant", &scopes, None).await;
        let reader = add_agent(&inner, &http, &endpoint, "reader", &reading, None).await;
        Self {
            inner,
            url,
            agent,
            reader,
            people: Default::default(),
            http,
            server,
            elsewhere: None,
            database,
        }
    }

    /// Another server on the same database, as a second process would be. Its clock is its own.
    pub fn another_server(&self) -> Server {
        self.another_server_with(|_| {})
    }

    /// The same with settings of its own.
    pub fn another_server_with(&self, configure: impl FnOnce(&mut Config)) -> Server {
        Server::start(&self.database, configure, App::build)
    }

    /// The same with kinds and read tools of its own, as a process of another release would have.
    pub fn another_server_of(&self, registry: Registry) -> Server {
        Server::start(&self.database, |_| {}, |config| App::with_registry(config, registry))
    }

    /// The application in a process that does what it is told and nothing else: it serves nobody, and sweeps nothing by itself. Its
    /// clock is its own.
    pub fn unserved(&self) -> App {
        self.unserved_with(|_| {})
    }

    /// The same with settings of its own.
    pub fn unserved_with(&self, configure: impl FnOnce(&mut Config)) -> App {
        let mut config = Config::on(&self.database.url).unwrap();
        config.secret = Some(SECRET.into());
        configure(&mut config);
        App::build(config).unwrap()
    }

    /// The first person of that role, `owner@example.com` and so on.
    pub async fn person(&self, role: Role) -> &Person {
        self.people[role as usize].get_or_init(|| self.add_person(role.as_str(), role)).await
    }

    /// One more person, `NAME@example.com`.
    pub async fn add_person(&self, name: &str, role: Role) -> Person {
        let added = self.inner.auth.add_person(&format!("{name}@example.com"), role).await.unwrap();
        let NewPerson {
            person,
            password,
            api_token,
        } = added;
        let api = format!("{}/api/v1", self.url);
        Person {
            email: person.email,
            password,
            api_token,
            api,
            http: self.http.clone(),
            elsewhere: self.elsewhere.clone(),
        }
    }

    /// Stops serving, and leaves the database to other processes.
    pub async fn leave(self) -> Database {
        let Self {
            server,
            agent,
            reader,
            people,
            http,
            database,
            elsewhere,
            ..
        } = self;
        // Their idle connections would be waited for.
        drop((agent, reader, people, http, elsewhere));
        server.stop().await;
        database
    }

    /// One more agent.
    pub async fn add_agent(&self, name: &str, scopes: &[&str]) -> Agent {
        let agent = add_agent(&self.inner, &self.http, &self.agent.endpoint, name, scopes, None).await;
        Agent {
            elsewhere: self.elsewhere.clone(),
            ..agent
        }
    }

    /// One more agent with every scope, which belongs to a person.
    pub async fn agent_of(&self, owner: &Person, name: &str) -> Agent {
        let scopes = self.inner.gate.registry.scopes();
        let owner = Some(owner.email.as_str());
        add_agent(&self.inner, &self.http, &self.agent.endpoint, name, &scopes, owner).await
    }
}

impl Fixture for TestApp {
    async fn set_up(backend: Backend) -> Self {
        Self::with(backend, |_| {}).await
    }

    async fn tear_down(self) {
        self.leave().await;
    }
}

impl Spread for TestApp {
    async fn spread(backend: Backend) -> Self {
        Self::on_several_processes(backend, "off").await
    }
}

async fn add_agent(
    app: &App,
    http: &reqwest::Client,
    endpoint: &str,
    name: &str,
    scopes: &[&str],
    owner: Option<&str>,
) -> Agent {
    let scopes: Vec<String> = scopes.iter().map(std::string::ToString::to_string).collect();
    let added = app.auth.add_agent(name, &scopes, owner, &app.gate.registry.scopes()).await.unwrap();
    Agent {
        name: name.into(),
        key: added.key,
        endpoint: endpoint.into(),
        http: http.clone(),
        elsewhere: None,
        stdio: None,
    }
}

/// How the application is put together.
trait Build: FnOnce(Config) -> Result<App, Error> {}
impl<T: FnOnce(Config) -> Result<App, Error>> Build for T {}

/// A server in a thread of this process, stopped when dropped.
pub struct Server {
    pub app: App,
    pub url: String,
    shutdown: oneshot::Sender<()>,
    thread: JoinHandle<Result<(), Error>>,
}

impl Server {
    /// At the end of a cable, whether or not it is plugged in.
    pub fn through(cable: &Cable, database: &Database) -> Self {
        Self::start(database, |config| config.database_url = cable.url.parse().unwrap(), App::build)
    }

    /// On a database that holds something already.
    pub fn on(database: &Database, configure: impl FnOnce(&mut Config)) -> Self {
        Self::start(database, configure, App::build)
    }

    fn start(database: &Database, configure: impl FnOnce(&mut Config), build: impl Build) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut config = Config::on(&database.url).unwrap();
        config.listen = listener.local_addr().unwrap();
        config.secret = Some(SECRET.into());
        config.read_rate = Rate::Off;
        config.write_rate = Rate::Off;
        configure(&mut config);

        let url = format!("http://{}", config.listen);
        let app = build(config).unwrap();
        let (shutdown, stopping) = oneshot::channel::<()>();
        let served = app.clone();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(app::serve(served, listener, async {
                // A sender that was dropped says the same as one that sent.
                let _ = stopping.await;
            }))
        });
        Self {
            app,
            url,
            shutdown,
            thread,
        }
    }

    /// Stops it as SIGTERM would: requests under way are answered.
    pub async fn stop(self) {
        let Self { shutdown, thread, .. } = self;
        drop(shutdown);
        tokio::task::spawn_blocking(|| thread.join().unwrap()).await.unwrap().unwrap();
    }
}
