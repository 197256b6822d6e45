//! A load: so many callers, each of whom waits for an answer before it asks again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::Outcome;

/// What was measured.
#[derive(Clone, Copy)]
pub struct Figures {
    /// Answers a second.
    pub rate: f64,
    pub median: Duration,
    /// One answer of a hundred took longer.
    pub p99: Duration,
}

/// A call: the head's first lines and the body, of which every caller makes its own number.
pub type Calls = Arc<dyn Fn(usize) -> Call + Send + Sync>;

/// One call.
pub struct Call {
    /// Such as `POST /mcp`.
    pub line: String,
    /// Further headers, each with its line end.
    pub headers: String,
    pub body: String,
}

/// Asks for so long, or so many times, whichever is sooner, and looks at every answer.
pub async fn ask<F>(
    address: &str,
    at_once: usize,
    time: Duration,
    numbers: std::ops::Range<usize>,
    calls: &Calls,
    look: F,
) -> Outcome<Figures>
where
    F: Fn(&Value) -> Outcome<()> + Clone + Send + 'static,
{
    let next = Arc::new(AtomicUsize::new(numbers.start));
    let begun = Instant::now();
    let callers = (0..at_once).map(|_| {
        let (next, calls, look, end) = (Arc::clone(&next), Arc::clone(calls), look.clone(), numbers.end);
        let address = address.to_owned();
        tokio::spawn(async move {
            let (mut line, mut took) = (Line::to(&address).await?, Vec::new());
            while begun.elapsed() < time {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= end {
                    break;
                }
                let call = calls(number);
                let asked = Instant::now();
                let answer = line.ask(&call).await?;
                took.push(asked.elapsed());
                look(&read(&answer))?;
            }
            Outcome::Ok(took)
        })
    });
    let mut took = Vec::new();
    for caller in callers.collect::<Vec<_>>() {
        took.extend(caller.await??);
    }
    let passed = begun.elapsed();
    took.sort();
    let at = |percent: usize| took[(took.len() - 1) * percent / 100];
    Ok(Figures {
        rate: f64::from(u32::try_from(took.len())?) / passed.as_secs_f64(),
        median: at(50),
        p99: at(99),
    })
}

/// A page is a text.
fn read(answer: &[u8]) -> Value {
    serde_json::from_slice(answer).unwrap_or_else(|_| String::from_utf8_lossy(answer).into())
}

/// A connection that is kept. A client that can do more would take processor time from the server beside it.
struct Line {
    stream: TcpStream,
    host: String,
    heard: Vec<u8>,
}

impl Line {
    async fn to(address: &str) -> Outcome<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            host: address.to_owned(),
            heard: Vec::new(),
        })
    }

    /// The body of the answer, if that is 200.
    async fn ask(&mut self, call: &Call) -> Outcome<Vec<u8>> {
        let Call { line, headers, body } = call;
        let (host, length) = (&self.host, body.len());
        let message = format!(
            "{line} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        self.stream.write_all(message.as_bytes()).await?;
        self.heard.clear();
        let head = loop {
            if let Some(end) = self.heard.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            self.hear().await?;
        };
        let text = String::from_utf8_lossy(&self.heard[..head]).to_ascii_lowercase();
        let length = text.split("\r\n").find_map(|line| line.strip_prefix("content-length:"));
        let body = match length {
            Some(length) => {
                let end = head + length.trim().parse::<usize>()?;
                while self.heard.len() < end {
                    self.hear().await?;
                }
                self.heard[head..end].to_vec()
            }
            None => self.chunks(head).await?,
        };
        if text.starts_with("http/1.1 200 ") {
            Ok(body)
        } else {
            Err(format!("{text}{}", String::from_utf8_lossy(&body)).into())
        }
    }

    /// A body that comes in chunks, each behind its length, the last of which is empty.
    async fn chunks(&mut self, mut at: usize) -> Outcome<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let Some(end) = self.heard[at..].windows(2).position(|window| window == b"\r\n") else {
                self.hear().await?;
                continue;
            };
            let length = usize::from_str_radix(std::str::from_utf8(&self.heard[at..at + end])?, 16)?;
            let start = at + end + 2;
            while self.heard.len() < start + length + 2 {
                self.hear().await?;
            }
            body.extend_from_slice(&self.heard[start..start + length]);
            if length == 0 {
                return Ok(body);
            }
            at = start + length + 2;
        }
    }

    async fn hear(&mut self) -> Outcome<()> {
        if self.stream.read_buf(&mut self.heard).await? == 0 {
            return Err("the server hung up".into());
        }
        Ok(())
    }
}
