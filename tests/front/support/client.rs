//! A real MCP client, that of `rmcp`, in either protocol era and over either transport.

use std::process::Stdio;

use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, RunningService, ServiceError, serve_client_with_lifecycle};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{Peer, RoleClient};
use serde_json::{Value, json};
use tokio::process::Command;

use super::Agent;
use super::agent::Answer;

/// How a client begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize`, in this version.
    Handshake(&'static str),
    /// `server/discover`, and every request speaks for itself.
    Discovery,
}

impl Era {
    /// Every way in that clients use today.
    pub const ALL: [Self; 3] =
        [Self::Handshake("2025-06-18"), Self::Handshake("2025-11-25"), Self::Discovery];

    fn lifecycle(self) -> ClientLifecycleMode {
        match self {
            Self::Handshake(_) => ClientLifecycleMode::Initialize,
            Self::Discovery => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        }
    }

    fn config(self) -> ClientConfig {
        let mut config = ClientConfig::default();
        if let Self::Handshake(version) = self {
            config.protocol_version = serde_json::from_value(json!(version)).unwrap();
        }
        config
    }
}

/// A connected client.
pub struct Client(RunningService<RoleClient, ClientConfig>);

impl Client {
    /// Over HTTP, with the agent's key.
    pub async fn over_http(agent: &Agent, era: Era) -> Self {
        // No connection outlives its request: a server that stops would wait for it.
        let http = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
        let config = StreamableHttpClientTransportConfig::with_uri(agent.endpoint.clone());
        let transport = StreamableHttpClientTransport::with_client(http, config.auth_header(&agent.key));
        Self(serve_client_with_lifecycle(era.config(), transport, era.lifecycle()).await.unwrap())
    }

    /// Over the standard input and output of a program, whose standard error is thrown away.
    pub async fn over_stdio(program: Command, era: Era) -> Self {
        let (transport, _) = TokioChildProcess::builder(program).stderr(Stdio::null()).spawn().unwrap();
        Self(serve_client_with_lifecycle(era.config(), transport, era.lifecycle()).await.unwrap())
    }

    /// The protocol version that both sides settled on.
    pub fn version(&self) -> String {
        self.0.peer_info().unwrap().protocol_version.to_string()
    }

    /// Calls a tool. Panics on anything but an answer of that tool.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.try_call(tool, arguments).await.unwrap()
    }

    /// Calls a tool that may not be there.
    pub async fn try_call(&self, tool: &str, arguments: Value) -> Result<Answer, ServiceError> {
        let mut call = CallToolRequestParams::new(tool.to_owned());
        call.arguments = arguments.as_object().cloned();
        let result = self.peer().call_tool(call).await?;
        let body = result.structured_content.unwrap();
        let text: Value = serde_json::from_str(&result.content[0].as_text().unwrap().text).unwrap();
        assert_eq!(text, body, "the text says the same as the structured content");
        Ok(Answer {
            is_error: result.is_error.unwrap_or(false),
            body,
        })
    }

    /// The tools it is shown, as JSON.
    pub async fn tools(&self) -> Vec<Value> {
        let tools = self.peer().list_all_tools().await.unwrap();
        tools.iter().map(|tool| serde_json::to_value(tool).unwrap()).collect()
    }

    /// Disconnects.
    pub async fn close(self) {
        self.0.cancel().await.unwrap();
    }

    fn peer(&self) -> &Peer<RoleClient> {
        self.0.peer()
    }
}
