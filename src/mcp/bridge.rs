//! The bridge: standard input and output towards a client, HTTP towards a server's `/mcp`.
//!
//! An agent that shares an account with the database could go round the gate; through the bridge it holds a key and
//! nothing else. Messages pass as the bytes they are, in either protocol era: the bridge reads them only for the headers
//! that HTTP asks for, and answers by itself only when the server can't.

mod events;
mod headers;
mod reply;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::{
    StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    redirect::Policy,
};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::{AbortHandle, JoinSet},
};

use self::reply::{Asked, Trouble};
use super::{
    lines::{Lines, Out},
    strict::{self, Message},
};
use crate::error::{Error, Result};

/// Longer than any client waits, so that it is never the bridge that gives up first.
const PATIENCE: Duration = Duration::from_mins(2);
/// How long the way there may take before nothing is sent.
const ARRIVAL: Duration = Duration::from_secs(10);

/// Forwards messages until the input ends and what was asked is answered.
pub async fn run(
    url: &str,
    key: &str,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<()> {
    let server = Arc::new(Server::new(url, key)?);
    let (out, writer) = Out::new(output);
    let mut lines = Lines::new(input);
    let mut under_way = UnderWay::default();
    while let Some(line) = lines.next().await.map_err(|error| Error::Internal(error.into()))? {
        under_way.tidy();
        let read = line.and_then(|line| Ok((strict::read(&line)?, line)));
        let (message, line) = match read {
            Ok(read) => read,
            Err(refusal) => {
                let _gone = out.line(refusal.to_json().to_string()).await;
                continue;
            }
        };
        match message.method() {
            // Closing the request is how a cancellation reaches the server: it has no session to look the id up in.
            Some("notifications/cancelled") => under_way.cancel(&message.envelope["params"]["requestId"]),
            // Everything after it depends on the version that it settles.
            Some("initialize") => answer(&server, &out, &message, line).await,
            Some(_) => {
                let (server, out, id) = (server.clone(), out.clone(), message.id());
                under_way.begin(id, async move { answer(&server, &out, &message, line).await });
            }
            // A response, and the server asks nothing.
            None => {}
        }
    }
    under_way.finish().await;
    drop(out);
    writer.await.map_err(|error| Error::Internal(error.into()))
}

async fn answer(server: &Server, out: &Out, message: &Message, line: Vec<u8>) {
    let answer = server.ask(message, line, out).await;
    // A notification is answered by nobody, not even when it got lost.
    if let (Some(answer), false) = (answer, message.is_notification()) {
        let _gone = out.line(answer).await;
    }
}

/// The requests that are being forwarded.
#[derive(Default)]
struct UnderWay {
    tasks: JoinSet<()>,
    by_id: HashMap<String, AbortHandle>,
}

impl UnderWay {
    fn begin(&mut self, id: Option<Value>, task: impl Future<Output = ()> + Send + 'static) {
        let handle = self.tasks.spawn(task);
        if let Some(id) = id {
            self.by_id.insert(id.to_string(), handle);
        }
    }

    fn cancel(&mut self, id: &Value) {
        if let Some(task) = self.by_id.remove(&id.to_string()) {
            task.abort();
        }
    }

    fn tidy(&mut self) {
        while self.tasks.try_join_next().is_some() {}
        self.by_id.retain(|_, task| !task.is_finished());
    }

    async fn finish(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// The server at the other end.
struct Server {
    http: reqwest::Client,
    endpoint: Url,
    authorization: HeaderValue,
    /// What `initialize` settled, for a client of the older era.
    version: Mutex<Option<String>>,
}

impl Server {
    fn new(url: &str, key: &str) -> Result<Self> {
        let endpoint = endpoint(url).ok_or_else(|| {
            Error::Setup(format!(
                "COUNTERSIGN_URL is {url:?}; it must be the server's address, as https://host."
            ))
        })?;
        let bearer = HeaderValue::from_str(&format!("Bearer {}", key.trim()));
        let mut authorization = bearer
            .ok()
            .filter(|_| !key.trim().is_empty())
            .ok_or_else(|| Error::Setup("COUNTERSIGN_AGENT_KEY is not set to an agent's key.".to_owned()))?;
        authorization.set_sensitive(true);
        // A redirect would turn the message into a GET, or carry it where nobody sent it.
        let http = reqwest::Client::builder().redirect(Policy::none());
        let mut http = http.connect_timeout(ARRIVAL).timeout(PATIENCE);
        if is_loopback(&endpoint) {
            http = http.no_proxy();
        } else if endpoint.scheme() == "http" {
            tracing::warn!("COUNTERSIGN_URL is not https: the agent key crosses the network unprotected");
        }
        let http = http.build().map_err(|error| Error::Internal(error.into()))?;
        Ok(Self {
            http,
            endpoint,
            authorization,
            version: Mutex::default(),
        })
    }

    /// Forwards a message. The answer to write, if there is one; what comes before it is written at once.
    async fn ask(&self, message: &Message, line: Vec<u8>, out: &Out) -> Option<String> {
        let settled = self.version.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let asked = Asked::new(message);
        let request = self
            .http
            .post(self.endpoint.clone())
            .header(AUTHORIZATION, self.authorization.clone())
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .headers(headers::of(message, settled.as_deref()))
            .body(line);
        let response = async {
            let mut response = request.send().await?;
            let status = response.status();
            let body = if is_stream(&response) {
                events::listen(&mut response, out).await?
            } else {
                Some(response.text().await?)
            };
            Ok::<_, reqwest::Error>((status, body))
        };
        let (status, body) = match response.await {
            Ok((status, Some(body))) => (status, body),
            Ok((status, None)) => {
                tracing::warn!(%status, "the server hung up before it answered");
                return Some(asked.failed(&Trouble::Away));
            }
            Err(error) => {
                tracing::warn!(error = %chain(&error), "the server can't be reached");
                let trouble = if error.is_connect() { Trouble::Unheard } else { Trouble::Away };
                return Some(asked.failed(&trouble));
            }
        };
        if status == StatusCode::ACCEPTED {
            return None;
        }
        let Ok(answer) = serde_json::from_str::<Value>(&body) else {
            tracing::warn!(%status, "the answer is no JSON");
            let trouble = if status.is_server_error() {
                Trouble::Away
            } else {
                Trouble::Elsewhere(status.as_u16())
            };
            return Some(asked.failed(&trouble));
        };
        if answer["jsonrpc"] != "2.0" {
            return Some(asked.failed(&Trouble::of(status.as_u16(), answer)));
        }
        if message.method() == Some("initialize") {
            let version = answer["result"]["protocolVersion"].as_str().map(str::to_owned);
            *self.version.lock().unwrap_or_else(PoisonError::into_inner) = version;
        }
        Some(asked.answered(answer, body))
    }
}

/// Whether the server tells something before it answers.
fn is_stream(response: &reqwest::Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| kind.starts_with(b"text/event-stream"))
}

/// `/mcp` below the server's address; an address that already ends so is taken as it is.
fn endpoint(url: &str) -> Option<Url> {
    let url = url.trim().trim_end_matches('/');
    let base = url.strip_suffix(super::http::PATH).unwrap_or(url);
    let endpoint = Url::parse(&format!("{base}{}", super::http::PATH)).ok()?;
    (matches!(endpoint.scheme(), "http" | "https") && endpoint.has_host()).then_some(endpoint)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// An error with its causes, which `reqwest` keeps to itself.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
