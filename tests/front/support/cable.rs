//! A cable to a Postgres server that can be pulled out.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::JoinHandle;
use url::Url;

use super::Database;

/// The way from a port of its own to the server of a database.
pub struct Cable {
    /// The database at the cable's end, as `DATABASE_URL` takes it.
    pub url: String,
    end: Arc<End>,
    port: u16,
    plugged: Option<JoinHandle<()>>,
}

impl Cable {
    /// Plugged in.
    pub async fn to(database: &Database) -> Self {
        let mut url: Url = database.url.parse().unwrap();
        let end = Arc::new(End::of(&url));
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
        let plugged = Some(tokio::spawn(forward(listener, Arc::clone(&end))));
        Self {
            url: url.into(),
            end,
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
        self.plugged = Some(tokio::spawn(forward(listener, Arc::clone(&self.end))));
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
async fn forward(listener: TcpListener, end: Arc<End>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (near, _) = listener.accept().await.unwrap();
        match &*end {
            End::Socket(path) => connections.spawn(join(near, UnixStream::connect(path.clone()))),
            End::Address(host, port) => {
                connections.spawn(join(near, TcpStream::connect((host.clone(), *port))))
            }
        };
    }
}

async fn join<S>(mut near: TcpStream, far: impl Future<Output = std::io::Result<S>>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut far = far.await.unwrap();
    // Either end may hang up.
    let _ = copy_bidirectional(&mut near, &mut far).await;
}
