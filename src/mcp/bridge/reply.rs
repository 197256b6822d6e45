//! What the bridge writes: the server's answer, or its own when there is none.

use serde_json::{Value, json};

use super::headers;
use crate::{
    error::{Code, Denial},
    gateway::error_body,
    mcp::strict::{INTERNAL_ERROR, Message},
};

/// What must be known of a request to answer it.
pub struct Asked {
    id: Option<Value>,
    is_tool_call: bool,
    is_modern: bool,
}

/// Why there is no answer to pass on.
pub enum Trouble {
    /// There was no connection, so nothing was sent.
    Unheard,
    /// Nobody answers, or only what stands before the server does.
    Away,
    /// Something answers that is not Countersign, with this status.
    Elsewhere(u16),
    /// The server turned the request away before it was a message, with this body.
    Denied(Value),
}

impl Trouble {
    /// What an answer outside the protocol means.
    pub fn of(status: u16, body: Value) -> Self {
        if status == 401 {
            return Self::Denied(error_body(&Denial::new(
                Code::Unauthenticated,
                "The server does not accept this agent key. Ask the person who runs it for a valid one; it belongs in \
                 COUNTERSIGN_AGENT_KEY.",
            )));
        }
        if body["error"]["code"].is_string() && body["error"]["message"].is_string() {
            return Self::Denied(body);
        }
        if status >= 500 { Self::Away } else { Self::Elsewhere(status) }
    }

    fn body(&self) -> Value {
        let sentence = match self {
            Self::Denied(body) => return body.clone(),
            Self::Unheard => {
                "Countersign can't be reached, so this call did not get there. Send the same call again in a while; if \
                           that does not help, ask the person who set this up whether it runs at COUNTERSIGN_URL."
                    .to_owned()
            }
            Self::Away => {
                "Countersign can't be reached, so the outcome is unknown. Send the same call again; it will \
                           not be done twice."
                    .to_owned()
            }
            Self::Elsewhere(status) => format!(
                "What answers at COUNTERSIGN_URL is not Countersign (status {status}). Ask the person who set this up \
                 to check the address."
            ),
        };
        error_body(&Denial::new(Code::Unavailable, sentence))
    }
}

impl Asked {
    /// What this message asks.
    pub fn new(message: &Message) -> Self {
        Self {
            id: message.id(),
            is_tool_call: message.arguments.is_some(),
            is_modern: headers::version(message).is_some_and(|version| version >= "2026-07-28"),
        }
    }

    /// The server's answer, in one line and with the id it answers to: an error from before the message was read has
    /// none.
    pub fn answered(&self, mut answer: Value, body: String) -> String {
        let lacks_id = answer.get("id").is_none_or(Value::is_null);
        if let (true, Some(id)) = (lacks_id, &self.id) {
            answer["id"] = id.clone();
            return answer.to_string();
        }
        if body.contains(['\n', '\r']) { answer.to_string() } else { body }
    }

    /// The bridge's own answer. A tool call gets one that its agent can read.
    pub fn failed(&self, trouble: &Trouble) -> String {
        let body = trouble.body();
        if !self.is_tool_call {
            let error = &body["error"];
            let error =
                json!({"code": INTERNAL_ERROR, "message": error["message"], "data": {"code": error["code"]}});
            return json!({"jsonrpc": "2.0", "id": self.id, "error": error}).to_string();
        }
        let content = json!([{"type": "text", "text": body.to_string()}]);
        let mut result = json!({"content": content, "structuredContent": body, "isError": true});
        if self.is_modern {
            result["resultType"] = "complete".into();
        }
        json!({"jsonrpc": "2.0", "id": self.id, "result": result}).to_string()
    }
}
