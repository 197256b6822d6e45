//! MCP over standard input and output, straight on the gateway.
//!
//! For trying out: whoever can start this can also open the database it stands on. Standard output carries the protocol
//! and nothing else; logs go to standard error. It ends when the input does, after answering what was asked before.

mod open;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions, GetMeta, JsonRpcMessage,
        ProtocolVersion, ServerJsonRpcMessage,
    },
    service::ServerInitializeError,
    transport::Transport,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
};

use self::open::Open;
use super::{
    lines::{Lines, Out},
    server::{self, Inlet, Server},
    strict::{self, INTERNAL_ERROR, INVALID_REQUEST, Refusal},
};
use crate::{
    audit::{Door, Source},
    error::{Error, Result},
    gateway::Gateway,
};

/// So many messages may wait to be taken up.
const WAITING: usize = 64;

const ID_IN_USE: &str =
    "A request with the same id still waits for its answer. Give every request an id of its own.";

/// Serves one agent until its input ends. A key that isn't good is an error at once, not at the first call.
pub async fn serve(
    gateway: Gateway,
    key: String,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<()> {
    let source = Source {
        door: Door::Stdio,
        address: None,
    };
    if let Err(Error::Denied(denial)) = gateway.authenticate(&key, &source).await {
        return Err(Error::Setup(format!("COUNTERSIGN_AGENT_KEY is not accepted. {}", denial.message)));
    }
    let (out, writer) = Out::new(output);
    let witness = Witness {
        gateway: gateway.clone(),
        key: key.clone(),
        source: source.clone(),
    };
    let transport = Wire::new(input, out, witness);
    match rmcp::serve_server(Server::for_key(gateway, key, source), transport).await {
        Ok(service) => {
            let ended = service.waiting().await;
            tracing::debug!(?ended, "the client is gone");
        }
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        Err(error) => return Err(Error::Internal(error.into())),
    }
    // Every answer is written before the process ends.
    writer.await.map_err(|error| Error::Internal(error.into()))
}

/// The library's view of the two pipes.
struct Wire {
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
    out: Out,
    open: Arc<Open>,
}

impl Wire {
    fn new(input: impl AsyncRead + Unpin + Send + 'static, out: Out, witness: Witness) -> Self {
        let (sender, messages) = mpsc::channel(WAITING);
        let open = Arc::new(Open::default());
        tokio::spawn(read(Lines::new(input), sender, out.clone(), open.clone(), witness));
        Self { messages, out, open }
    }
}

impl Transport<RoleServer> for Wire {
    type Error = std::io::Error;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = std::io::Result<()>> + Send + 'static {
        let (out, open) = (self.out.clone(), self.open.clone());
        async move {
            let answered = match &mut message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => {
                    server::put_plainly(&mut error.error);
                    error.id.as_ref()
                }
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            let Some(id) = answered else {
                return out.line(serde_json::to_vec(&message)?).await;
            };
            open.leave(id);
            let sent = match serde_json::to_vec(&message) {
                Ok(line) => out.line(line).await,
                Err(error) => Err(error.into()),
            };
            open.left();
            sent
        }
    }

    /// The library stops when this has nothing more, and gives what is under way five seconds. A write can wait longer
    /// for a busy database, so the end of the input is held back until everything is answered.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.messages.recv().await;
        if message.is_none() {
            self.open.all_closed().await;
        }
        message
    }

    async fn close(&mut self) -> std::io::Result<()> {
        self.messages.close();
        Ok(())
    }
}

/// Sees to it that a refused message is in the log before its agent is told.
struct Witness {
    gateway: Gateway,
    key: String,
    source: Source,
}

impl Witness {
    /// The refusal; another one when it could not be recorded. A key that is no longer good has been recorded as such.
    async fn recorded(&self, refusal: Refusal) -> Refusal {
        let recorded = match self.gateway.authenticate(&self.key, &self.source).await {
            Ok(caller) => self.gateway.message_refused(&caller, refusal.code).await,
            Err(Error::Denied(_)) => Ok(()),
            Err(error) => Err(error),
        };
        match recorded {
            Ok(()) => refusal,
            Err(error) => Refusal::new(refusal.id, INTERNAL_ERROR, error.into_denial().message),
        }
    }
}

/// Reads the input to its end.
async fn read(
    mut lines: Lines<impl AsyncRead + Unpin>,
    messages: mpsc::Sender<ClientJsonRpcMessage>,
    out: Out,
    open: Arc<Open>,
    witness: Witness,
) {
    let mut begun = false;
    loop {
        let line = match lines.next().await {
            Ok(Some(line)) => line,
            Ok(None) => return,
            Err(error) => return tracing::warn!(%error, "the input can't be read"),
        };
        let message = match line.and_then(|line| strict::read(&line)) {
            Ok(message) => message,
            Err(refusal) => {
                let refusal = witness.recorded(refusal).await;
                let _gone = out.line(refusal.to_json().to_string()).await;
                continue;
            }
        };
        let mut typed = match server::typed(&message) {
            Ok(typed) => typed,
            Err(refusal) => {
                let refusal = witness.recorded(refusal).await;
                if !message.is_notification() {
                    let _gone = out.line(refusal.to_json().to_string()).await;
                }
                continue;
            }
        };
        match &mut typed {
            JsonRpcMessage::Request(request) => {
                let inlet = Inlet {
                    caller: None,
                    arguments: message.arguments,
                };
                request.request.extensions_mut().insert(inlet);
                if !open.open(request.id.clone()) {
                    // Without the id: with it, the client would take this for the answer to the first one.
                    let refusal = Refusal::new(None, INVALID_REQUEST, ID_IN_USE);
                    let refusal = witness.recorded(refusal).await;
                    let _gone = out.line(refusal.to_json().to_string()).await;
                    continue;
                }
                begun |= begins(&request.request);
            }
            // The library takes a notification before the first real request for the end of the session.
            JsonRpcMessage::Notification(_) if !begun => continue,
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    cancelled.params.request_id.iter().for_each(|id| open.close(id));
                }
            }
            // Nothing is ever asked of the client.
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => continue,
        }
        if messages.send(typed).await.is_err() {
            return;
        }
    }
}

/// Whether the library takes this request for the begin of a session, of either era.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        request => {
            let meta = request.get_meta();
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && meta.protocol_version().is_some_and(|it| ProtocolVersion::KNOWN_VERSIONS.contains(&it))
        }
    }
}
