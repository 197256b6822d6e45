//! A server on a socket, spoken to byte by byte.

use std::{fmt::Write, sync::Arc};

use actix_web::{App, HttpServer, rt};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::super::{Mount, service};
use crate::{
    gateway::Gateway,
    mcp::testing::{self, Trial},
};

pub const MODERN: &str = "2026-07-28";

pub struct Site {
    address: std::net::SocketAddr,
    pub key: String,
    _trial: Option<Trial>,
}

pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

fn serve(gateway: Gateway) -> std::net::SocketAddr {
    let mount = Mount {
        gateway,
        public_url: "https://gate.example.com".parse().expect("a URL"),
        address: Arc::new(|request| request.peer_addr().map(|peer| peer.ip().to_string())),
    };
    let server = HttpServer::new(move || App::new().service(service(mount.clone())));
    let server = server.workers(1).bind("127.0.0.1:0").expect("a free port");
    let address = server.addrs()[0];
    rt::spawn(server.run());
    address
}

impl Site {
    pub async fn start() -> Self {
        let trial = Trial::new().await;
        Self {
            key: format!("Bearer {}", trial.key),
            address: serve(trial.gateway.clone()),
            _trial: Some(trial),
        }
    }

    pub fn away() -> Self {
        Self {
            key: "Bearer any".to_owned(),
            address: serve(testing::away()),
            _trial: None,
        }
    }

    pub async fn raw(&self, request: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(self.address).await.expect("connect");
        let (mut read, mut write) = stream.split();
        let mut answer = Vec::new();
        // A server that has heard enough may stop reading.
        let (_, _) = tokio::join!(write.write_all(request), read.read_to_end(&mut answer));
        let answer = String::from_utf8(answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = if head.to_lowercase().contains("transfer-encoding: chunked") {
            unchunk(body)
        } else {
            body.to_owned()
        };
        Reply {
            status,
            head: head.to_lowercase(),
            body,
        }
    }

    pub async fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut request =
            format!("{method} /mcp HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        let given = |name: &str| headers.iter().any(|(header, _)| header.eq_ignore_ascii_case(name));
        for (name, value) in [
            ("Host", "127.0.0.1"),
            ("Authorization", self.key.as_str()),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
        ] {
            if !given(name) {
                write!(request, "{name}: {value}\r\n").unwrap();
            }
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            write!(request, "{name}: {value}\r\n").unwrap();
        }
        self.raw(format!("{request}\r\n{body}").as_bytes()).await
    }

    pub async fn post(&self, message: &Value) -> Reply {
        self.send("POST", &[], &message.to_string()).await
    }

    pub async fn modern(&self, method: &str, name: Option<&str>, mut params: Value) -> Reply {
        params["_meta"] = meta(MODERN);
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut headers = vec![("MCP-Protocol-Version", MODERN), ("Mcp-Method", method)];
        headers.extend(name.map(|name| ("Mcp-Name", name)));
        self.send("POST", &headers, &message.to_string()).await
    }
}

impl Reply {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.head, self.body))
    }

    #[track_caller]
    pub fn error(&self, status: u16, code: i32) -> Value {
        let body = self.json();
        assert_eq!((self.status, &body["error"]["code"]), (status, &json!(code)), "{body}");
        body
    }
}

fn unchunk(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a chunk size");
        whole.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}

pub fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}
