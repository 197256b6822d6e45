//! A cable to a Postgres server that can be pulled out, fall silent, or be cut at a commit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use url::Url;

use super::run::{Fixture, Spread};
use super::{Backend, Database, TestApp};

/// The way from a port of its own to the server of a database.
pub struct Cable {
    /// The database at the cable's end, as `DATABASE_URL` takes it.
    pub url: String,
    line: Arc<Line>,
    port: u16,
    plugged: Option<JoinHandle<()>>,
}

/// Where a connection breaks at the COMMIT of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The server never hears of it.
    Before,
    /// The server hears of it, and nobody waits for its answer.
    Behind,
    /// The server answers, and nobody hears that.
    After,
}

impl Cut {
    pub const ALL: [Self; 3] = [Self::Before, Self::Behind, Self::After];
}

impl Cable {
    /// Plugged in.
    pub async fn to(database: &Database) -> Self {
        let mut url: Url = database.url.parse().unwrap();
        let line = Arc::new(Line {
            end: End::of(&url),
            cuts: Mutex::default(),
            is_dead: watch::Sender::new(false),
            made: AtomicUsize::new(0),
            silent: watch::Sender::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let others: Vec<(String, String)> = url
            .query_pairs()
            .filter(|(name, _)| name != "host" && name != "port")
            .map(|(a, b)| (a.into(), b.into()))
            .collect();
        url.set_query(None);
        url.query_pairs_mut()
            .extend_pairs(others)
            .append_pair("host", "127.0.0.1")
            .append_pair("port", &port.to_string());
        let plugged = Some(tokio::spawn(forward(listener, Arc::clone(&line))));
        Self {
            url: url.into(),
            line,
            port,
            plugged,
        }
    }

    /// Pulls it out: every connection breaks, and no new one is made.
    pub async fn pull(&mut self) {
        let plugged = self.plugged.take().unwrap();
        plugged.abort();
        assert!(plugged.await.unwrap_err().is_cancelled());
    }

    /// Plugs it in again.
    pub async fn plug_in(&mut self) {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await.unwrap();
        self.plugged = Some(tokio::spawn(forward(listener, Arc::clone(&self.line))));
    }

    /// From now on nothing comes through, and no connection breaks: what is said into it is answered by nobody.
    pub fn fall_silent(&self) {
        self.line.silent.send_replace(usize::MAX);
    }

    /// From now on nothing comes through the connections that stand, and none of them breaks. New ones are as good as ever.
    pub fn hold_what_stands(&self) {
        self.line.silent.send_replace(self.line.made.load(Ordering::SeqCst));
    }

    /// Whatever was silent goes on where it was.
    pub fn speak_again(&self) {
        self.line.silent.send_replace(0);
    }

    /// Breaks the connection of the next write at its COMMIT. All others go on.
    pub fn cut_a_commit(&self, cut: Cut) {
        *self.line.cuts.lock().unwrap() = vec![(cut, Then::GoOn)];
    }

    /// Loses the answers to the next `count` COMMITs of writes, which wait for each other; with the last of them the line goes
    /// dead.
    pub fn cut_commits_and_go_dead(&self, count: usize) {
        let mut cuts = vec![(Cut::After, Then::Die)];
        cuts.resize(count, (Cut::After, Then::WaitForTheEnd));
        *self.line.cuts.lock().unwrap() = cuts;
    }

    /// Waits until the line is dead.
    pub async fn until_dead(&self) {
        self.line.died().await;
    }

    /// Brings the line back to life.
    pub fn revive(&self) {
        self.line.is_dead.send_replace(false);
    }
}

/// An application at the end of a cable. Other processes beside it have none.
pub struct Cabled {
    pub app: TestApp,
    pub cable: Cable,
}

impl Fixture for Cabled {
    async fn set_up(backend: Backend) -> Self {
        let database = backend.fresh_database();
        let cable = Cable::to(&database).await;
        let app = TestApp::through(&cable, database).await;
        Self { app, cable }
    }

    async fn tear_down(self) {
        self.app.tear_down().await;
    }
}

impl Spread for Cabled {
    async fn spread(backend: Backend) -> Self {
        let Self { app, cable } = Self::set_up(backend).await;
        let app = app.beside_others("off");
        Self { app, cable }
    }
}

/// The state that all connections share.
struct Line {
    end: End,
    /// What happens to the next commits, the last first.
    cuts: Mutex<Vec<(Cut, Then)>>,
    is_dead: watch::Sender<bool>,
    /// How many connections there have been.
    made: AtomicUsize,
    /// How many of them, the first ones, are silent.
    silent: watch::Sender<usize>,
}

/// What becomes of the line after a cut.
#[derive(Clone, Copy)]
enum Then {
    GoOn,
    WaitForTheEnd,
    Die,
}

impl Line {
    async fn died(&self) {
        self.is_dead.subscribe().wait_for(|is_dead| *is_dead).await.unwrap();
    }

    async fn speaks_again(&self, connection: usize) {
        self.silent.subscribe().wait_for(|silent| connection >= *silent).await.unwrap();
    }

    async fn fell_silent(&self, connection: usize) {
        self.silent.subscribe().wait_for(|silent| connection < *silent).await.unwrap();
    }
}

/// Where the server listens.
enum End {
    Socket(String),
    Address(String, u16),
}

impl End {
    fn of(url: &Url) -> Self {
        let query =
            |name| url.query_pairs().find(|(given, _)| given == name).map(|(_, value)| value.into_owned());
        let port = query("port").map(|port| port.parse().unwrap()).or(url.port()).unwrap_or(5432);
        let host = query("host").or(url.host_str().map(ToOwned::to_owned));
        match host.filter(|host| !host.is_empty()).unwrap_or_else(|| "/var/run/postgresql".into()) {
            folder if folder.starts_with('/') => Self::Socket(format!("{folder}/.s.PGSQL.{port}")),
            host => Self::Address(host, port),
        }
    }
}

/// Forwards for as long as the task lives; its connections end with it.
async fn forward(listener: TcpListener, line: Arc<Line>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (near, _) = listener.accept().await.unwrap();
        if *line.is_dead.borrow() {
            continue;
        }
        let line = Arc::clone(&line);
        match &line.end {
            End::Socket(path) => {
                let far = UnixStream::connect(path.clone());
                connections.spawn(async move { join(near, far.await.unwrap(), &line).await })
            }
            End::Address(host, port) => {
                let far = TcpStream::connect((host.clone(), *port));
                connections.spawn(async move { join(near, far.await.unwrap(), &line).await })
            }
        };
    }
}

/// Forwards one connection until either end hangs up or it is cut.
async fn join(near: TcpStream, far: impl AsyncRead + AsyncWrite, line: &Line) {
    let (mut client, mut to_client) = near.into_split();
    let (mut server, mut to_server) = tokio::io::split(far);
    let (mut said, mut heard) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut is_writing = false;
    let number = line.made.fetch_add(1, Ordering::SeqCst);
    loop {
        tokio::select! {
            biased;
            () = line.fell_silent(number) => line.speaks_again(number).await,
            () = line.died() => return,
            count = client.read(&mut said) => {
                let Ok(count @ 1..) = count else { return };
                let said = &said[..count];
                // Only writes set a time-out for locks, when they begin.
                is_writing |= contains(said, b"lock_timeout");
                // The zero at the end tells it from READ COMMITTED.
                if is_writing && contains(said, b"COMMIT\0") {
                    is_writing = false;
                    let cut = line.cuts.lock().unwrap().pop();
                    if let Some((cut, then)) = cut {
                        if cut != Cut::Before {
                            to_server.write_all(said).await.unwrap();
                        }
                        if cut == Cut::After {
                            assert!(server.read(&mut heard).await.unwrap() > 0);
                        }
                        match then {
                            Then::GoOn => {}
                            Then::WaitForTheEnd => line.died().await,
                            Then::Die => drop(line.is_dead.send_replace(true)),
                        }
                        return;
                    }
                }
                if to_server.write_all(said).await.is_err() {
                    return;
                }
            }
            count = server.read(&mut heard) => {
                let Ok(count @ 1..) = count else { return };
                if to_client.write_all(&heard[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}
