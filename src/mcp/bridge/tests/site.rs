//! A client, the bridge, and a server at the other end.

use std::{sync::Arc, time::Duration};

use actix_web::{App, HttpResponse, HttpServer, rt, web};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines},
    task::JoinHandle,
};

use super::run;
use crate::{
    error::Result,
    mcp::http::{Mount, service},
    mcp::testing::Trial,
};

/// A client's ends of the pipes.
pub struct Client {
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    bridge: JoinHandle<Result<()>>,
}

impl Client {
    /// A bridge with this key.
    pub fn start(url: &str, key: &str) -> Self {
        let _already = rustls::crypto::ring::default_provider().install_default();
        let (input, bridge_input) = tokio::io::duplex(1 << 20);
        let (bridge_output, output) = tokio::io::duplex(1 << 20);
        let (url, key) = (url.to_owned(), key.to_owned());
        let bridge = tokio::spawn(async move { run(&url, &key, bridge_input, bridge_output).await });
        Self {
            input,
            output: BufReader::new(output).lines(),
            bridge,
        }
    }

    pub async fn line(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.expect("the bridge reads");
    }

    pub async fn ask(&mut self, message: Value) -> Value {
        self.line(&message.to_string()).await;
        self.answer().await
    }

    pub async fn answer(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(10), self.output.next_line()).await;
        let line = line.expect("in time").expect("readable").expect("an answer");
        serde_json::from_str(&line).expect("nothing but JSON on the output")
    }

    /// Closes the input; the answers that were still due.
    pub async fn end(mut self) -> Vec<Value> {
        drop(self.input);
        let mut rest = Vec::new();
        while let Some(line) = self.output.next_line().await.expect("readable") {
            rest.push(serde_json::from_str(&line).expect("nothing but JSON on the output"));
        }
        self.bridge.await.expect("no panic").expect("a clean end");
        rest
    }
}

/// A server with the agents' door.
pub struct Site {
    pub url: String,
    trial: Trial,
}

impl Site {
    pub async fn start() -> Self {
        let trial = Trial::new().await;
        let mount = Mount {
            gateway: trial.gateway.clone(),
            public_url: "https://gate.example.com".parse().expect("a URL"),
            address: Arc::new(|_| None),
        };
        let server = HttpServer::new(move || App::new().service(service(mount.clone())));
        let server = server.workers(1).bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", server.addrs()[0]);
        rt::spawn(server.run());
        Self { url, trial }
    }

    pub fn client(&self) -> Client {
        Client::start(&self.url, &self.trial.key)
    }
}

/// A server that answers everything with this.
pub fn impostor(status: u16, content_type: &'static str, body: &'static str) -> String {
    let answer = move || async move {
        let status = actix_web::http::StatusCode::from_u16(status).expect("a status");
        HttpResponse::build(status)
            .content_type(content_type)
            .insert_header(("Location", "/elsewhere"))
            .body(body)
    };
    let server = HttpServer::new(move || App::new().default_service(web::to(answer)));
    let server = server.workers(1).bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", server.addrs()[0]);
    rt::spawn(server.run());
    url
}
