//! The headers that repeat parts of a message, so that what stands between may route on them.

use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;

use crate::mcp::strict::Message;

/// Where a message of the newer era names its protocol version.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The protocol version that a message carries itself.
pub fn version(message: &Message) -> Option<&str> {
    message.envelope["params"]["_meta"][VERSION].as_str()
}

/// The headers for a message; `settled` is the version that `initialize` agreed on, if the client did that.
pub fn of(message: &Message, settled: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(&encoded(value)) {
            headers.insert(name, value);
        }
    };
    let Some(method) = message.method() else { return headers };
    if let Some(version) = version(message).or(settled.filter(|_| method != "initialize")) {
        set("mcp-protocol-version", version);
    }
    set("mcp-method", method);
    if let Some(name) = name(method, &message.envelope["params"]) {
        set("mcp-name", name);
    }
    headers
}

fn name<'m>(method: &str, params: &'m Value) -> Option<&'m str> {
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    params[member].as_str()
}

/// A value as the protocol wants it in a header: in Base64 where a header could not carry it as it is.
fn encoded(value: &str) -> String {
    let bare = value.trim_matches([' ', '\t']) == value
        && value.chars().all(|c| matches!(c, ' '..='~'))
        && !(value.starts_with("=?base64?") && value.ends_with("?="));
    if bare {
        value.to_owned()
    } else {
        format!("=?base64?{}?=", BASE64_STANDARD.encode(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::strict::read;

    fn headers(message: &str, settled: Option<&str>) -> Vec<String> {
        let message = read(message.as_bytes()).expect("a sound message");
        let headers = of(&message, settled);
        headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().expect("text")))
            .collect()
    }

    #[test]
    fn a_message_of_2026_names_its_version_itself() {
        let call = r#"{"id":1,"method":"tools/call","params":{"name":"get_order","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let expected = ["mcp-protocol-version: 2026-07-28", "mcp-method: tools/call", "mcp-name: get_order"];
        assert_eq!(headers(call, None), expected);
        assert_eq!(headers(call, Some("2025-06-18")), expected);
    }

    #[test]
    fn a_message_of_2025_has_the_settled_version() {
        let list = r#"{"id":1,"method":"tools/list"}"#;
        assert_eq!(
            headers(list, Some("2025-06-18")),
            ["mcp-protocol-version: 2025-06-18", "mcp-method: tools/list"]
        );
        assert_eq!(headers(list, None), ["mcp-method: tools/list"]);
        let again = r#"{"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
        assert_eq!(headers(again, Some("2025-06-18")), ["mcp-method: initialize"]);
    }

    #[test]
    fn what_a_header_can_not_carry_is_encoded() {
        assert_eq!(encoded("get_order"), "get_order");
        assert_eq!(encoded(" x"), "=?base64?IHg=?=");
        assert_eq!(encoded("größe"), "=?base64?Z3LDtsOfZQ==?=");
        assert_eq!(encoded("a\r\nb"), "=?base64?YQ0KYg==?=");
        assert_eq!(encoded("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
    }
}
