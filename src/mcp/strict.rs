//! The strict reader: the raw bytes of one JSON-RPC message, judged before the MCP library sees any of them.
//!
//! Ordinary JSON readers keep the last of two equal members and round what does not fit a double. Between an agent's
//! request and a person's approval that is a way to show one thing and do another, so here
//!
//! - a member given twice is refused wherever it stands,
//! - inside a tool call's `arguments` so is every number that is not a whole one within ±2^53,
//! - batches are refused whole, and so is what nests absurdly deep.
//!
//! What is wrong inside `arguments` is no protocol error: it is handed on as [`Arguments::Faulty`], so that the gateway
//! authorises and audits the call and the agent reads which member to mend. The message goes on to the MCP library
//! without its `arguments`: they have exactly one reader, this one.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::{
    gateway::Arguments,
    strict::{Numbers, Part, Reader},
};

/// The bytes are no JSON at all.
pub const PARSE_ERROR: i32 = -32700;
/// JSON, but not one JSON-RPC message.
pub const INVALID_REQUEST: i32 = -32600;
/// A method that is not served.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// Nothing that the client could have done better.
pub const INTERNAL_ERROR: i32 = -32603;

const TOOL_CALL: &str = "tools/call";

/// One message that may go on to the MCP library.
#[derive(Debug)]
pub struct Message {
    /// The message; of a tool call without its `arguments`.
    pub envelope: Value,
    /// A tool call's arguments, sound or faulty. Nothing for every other method.
    pub arguments: Option<Arguments>,
}

/// Why a message goes no further.
#[derive(Debug, PartialEq)]
pub struct Refusal {
    /// The request's id, where one could be read without doubt.
    pub id: Option<Value>,
    /// The JSON-RPC error code.
    pub code: i32,
    /// One sentence for whoever wrote the client.
    pub message: String,
}

/// Reads one message, or says why it is none.
pub fn read(bytes: &[u8]) -> Result<Message, Refusal> {
    let not_json = || Refusal::new(None, PARSE_ERROR, "The message is not valid JSON.");
    let text = std::str::from_utf8(bytes).map_err(|_| not_json())?;
    let mut reader = Reader::new(Part::Envelope, Numbers::Any);
    let envelope = reader.read(text).map_err(|_| not_json())?;
    let mut envelope = match envelope {
        Value::Object(members) => members,
        Value::Array(_) => {
            return Err(Refusal::new(
                None,
                INVALID_REQUEST,
                "Batches are not accepted. Send one message at a time.",
            ));
        }
        _ => return Err(Refusal::new(None, INVALID_REQUEST, "A JSON-RPC message is a JSON object.")),
    };
    if let Some(fault) = reader.fault {
        return Err(Refusal::new(id(&envelope), INVALID_REQUEST, fault));
    }
    let has_arguments = params(&mut envelope).and_then(|params| params.remove("arguments")).is_some();
    if envelope.get("method").and_then(Value::as_str) == Some(TOOL_CALL) {
        let arguments = if has_arguments { tool_arguments(text) } else { Arguments::Read(Map::new()) };
        return Ok(Message {
            envelope: Value::Object(envelope),
            arguments: Some(arguments),
        });
    }
    if has_arguments {
        // Some other method's arguments are part of its envelope: put them back, once they are read.
        let arguments = Reader::new(Part::Arguments, Numbers::Any)
            .arguments(text)
            .map_err(|fault| Refusal::new(id(&envelope), INVALID_REQUEST, fault))?;
        if let Some(params) = params(&mut envelope) {
            params.insert("arguments".to_owned(), arguments);
        }
    }
    Ok(Message {
        envelope: Value::Object(envelope),
        arguments: None,
    })
}

impl Message {
    /// The request's id; nothing for a notification.
    pub fn id(&self) -> Option<Value> {
        self.envelope.as_object().and_then(id)
    }

    /// Whether nobody waits for an answer.
    pub fn is_notification(&self) -> bool {
        self.method().is_some() && self.envelope.get("id").is_none()
    }

    /// The method, unless this is a response.
    pub fn method(&self) -> Option<&str> {
        self.envelope.get("method").and_then(Value::as_str)
    }
}

impl Refusal {
    /// A refusal of the request with this id.
    pub fn new(id: Option<Value>, code: i32, message: impl Into<String>) -> Self {
        Self {
            id,
            code,
            message: message.into(),
        }
    }

    /// The JSON-RPC error to answer with. An id that can't be read is left out, as the current specification has it.
    pub fn to_json(&self) -> Value {
        let error = json!({"code": self.code, "message": self.message});
        match &self.id {
            Some(id) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
            None => json!({"jsonrpc": "2.0", "error": error}),
        }
    }
}

fn id(envelope: &Map<String, Value>) -> Option<Value> {
    envelope.get("id").filter(|id| id.is_string() || id.is_i64()).cloned()
}

fn params(envelope: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    envelope.get_mut("params").and_then(Value::as_object_mut)
}

fn tool_arguments(text: &str) -> Arguments {
    match Reader::new(Part::Arguments, Numbers::Whole).arguments(text) {
        Ok(Value::Object(arguments)) => Arguments::Read(arguments),
        Ok(Value::Null) => Arguments::Read(Map::new()),
        Ok(_) => Arguments::Faulty("`arguments` must be a JSON object.".to_owned()),
        Err(fault) => Arguments::Faulty(fault),
    }
}
