//! An agent, as it meets the MCP door: plain JSON-RPC over HTTP, so that a test can also send what no library would.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::elsewhere::{Elsewhere, Stdio};
use super::http;

/// An agent and its key. Clones share nothing but that, as two processes of one agent would.
#[derive(Clone)]
pub struct Agent {
    pub name: String,
    pub key: String,
    pub endpoint: String,
    pub http: reqwest::Client,
    /// The other processes that it may call through.
    pub elsewhere: Option<Arc<Elsewhere>>,
    /// The program that it calls through instead of the endpoint.
    pub stdio: Option<Stdio>,
}

/// What a tool answered.
#[derive(Debug)]
pub struct Answer {
    pub is_error: bool,
    /// The structured content.
    pub body: Value,
}

impl Agent {
    /// The agent in as many processes, each with connections of its own. Where there is more than one way to the gate they
    /// take turns.
    pub fn processes(&self, count: usize) -> Vec<Self> {
        let stdio = self.elsewhere.as_ref().map(|elsewhere| elsewhere.stdio(&self.key));
        let process = |number: usize| {
            let mut process = Self {
                http: http::client(),
                ..self.clone()
            };
            match (&self.elsewhere, number % 3) {
                (Some(elsewhere), 1) => process.endpoint = format!("{}/mcp", elsewhere.url),
                (Some(_), 2) => process.stdio.clone_from(&stdio),
                _ => {}
            }
            process
        };
        (0..count).map(process).collect()
    }

    /// The agent at another server, with connections of its own.
    pub fn at(&self, url: &str) -> Self {
        Self {
            endpoint: format!("{url}/mcp"),
            http: http::client(),
            ..self.clone()
        }
    }

    /// A call that is still to be made: a contender of a race.
    pub fn calling(&self, tool: &'static str, arguments: &Value) -> BoxFuture<'static, Answer> {
        let (agent, arguments) = (self.clone(), arguments.clone());
        async move { agent.call(tool, arguments).await }.boxed()
    }

    /// Calls a tool. Panics on anything but an answer of that tool: an HTTP error, a JSON-RPC error.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.try_call(tool, arguments).await.unwrap()
    }

    /// The same with a server that may go away before it answers.
    pub async fn try_call(&self, tool: &str, arguments: Value) -> reqwest::Result<Answer> {
        if let Some(stdio) = &self.stdio {
            return Ok(stdio.call(tool, arguments).await);
        }
        let reply = self.try_rpc("tools/call", json!({ "name": tool, "arguments": arguments })).await?;
        let result = reply.get("result").unwrap_or_else(|| panic!("{tool} {arguments} answered {reply}"));
        Ok(Answer {
            is_error: result["isError"].as_bool().unwrap_or(false),
            body: result["structuredContent"].clone(),
        })
    }

    /// The tools it is shown.
    pub async fn tools(&self) -> Vec<Value> {
        let reply = self.rpc("tools/list", json!({})).await;
        reply["result"]["tools"].as_array().unwrap().clone()
    }

    /// Any JSON-RPC request, and its reply.
    pub async fn rpc(&self, method: &str, params: Value) -> Value {
        self.try_rpc(method, params).await.unwrap()
    }

    async fn try_rpc(&self, method: &str, params: Value) -> reqwest::Result<Value> {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, body) = self.try_post(message.to_string()).await?;
        assert_eq!(status, StatusCode::OK, "{message} answered {body}");
        Ok(serde_json::from_str(&body).unwrap())
    }

    /// Any body at all, as it is.
    pub async fn post(&self, body: String) -> (StatusCode, String) {
        self.try_post(body).await.unwrap()
    }

    async fn try_post(&self, body: String) -> reqwest::Result<(StatusCode, String)> {
        let request = self.request().header("mcp-protocol-version", "2025-06-18").body(body);
        let response = request.send().await?;
        Ok((response.status(), response.text().await?))
    }

    /// A request with the key and what every MCP client sends, ready for headers and a body.
    pub fn request(&self) -> RequestBuilder {
        let request = self.http.post(&self.endpoint).bearer_auth(&self.key);
        request
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
    }
}

impl Answer {
    /// The body of an answer that is no error.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!(!self.is_error, "an error: {}", self.body);
        self.body
    }

    /// The error's code.
    #[track_caller]
    pub fn code(&self) -> &str {
        assert!(self.is_error, "no error: {}", self.body);
        self.body["error"]["code"].as_str().unwrap()
    }
}
