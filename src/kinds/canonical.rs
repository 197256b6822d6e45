//! Canonical JSON (RFC 8785) and the hashes taken over it.

use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};

/// The one form of a value that is stored, hashed and executed.
///
/// # Panics
/// On values that are no JSON, which none of this crate's types can hold.
pub fn canonical(value: &impl Serialize) -> String {
    serde_json_canonicalizer::to_string(value).expect("only JSON values are made canonical")
}

/// Names the write itself, whoever asks for it: lower-hex SHA-256 of kind and canonical params.
pub fn fingerprint(kind: &str, params: &str) -> String {
    sha256("countersign.write.v1\n", &json!({ "kind": kind, "params": parsed(params) }))
}

/// The idempotency key of a request that brought none.
pub fn derived_key(principal_id: &str, kind: &str, params: &str) -> String {
    let named = json!({ "kind": kind, "params": parsed(params), "principal": principal_id });
    format!("d:{}", sha256("countersign.slot.v1\n", &named))
}

/// Names exactly what an approver sees.
pub struct Digested<'a> {
    pub action_id: &'a str,
    pub agent_id: &'a str,
    pub kind: &'a str,
    pub kind_version: i32,
    pub params: &'a str,
    pub reason: &'a str,
}

impl Digested<'_> {
    /// Lower-hex SHA-256 of `countersign.action.v1\n` and the canonical JSON of all fields.
    pub fn digest(&self) -> String {
        let named = json!({
            "action_id": self.action_id,
            "agent_id": self.agent_id,
            "kind": self.kind,
            "kind_version": self.kind_version,
            "params": parsed(self.params),
            "reason": self.reason,
        });
        sha256("countersign.action.v1\n", &named)
    }
}

/// Lower-hex SHA-256 of a label and a canonical value.
fn sha256(label: &str, value: &serde_json::Value) -> String {
    let mut hash = Sha256::new();
    hash.update(label);
    hash.update(canonical(value));
    hex(&hash.finalize())
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Params are canonical JSON from this crate's own hand.
fn parsed(params: &str) -> serde_json::Value {
    serde_json::from_str(params).expect("params are stored as JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_vectors() {
        let params = r##"{"amount_minor":899900,"currency":"INR","order_id":"#1044"}"##;
        assert_eq!(
            canonical(&json!({"order_id": "#1044", "currency": "INR", "amount_minor": 899_900})),
            params,
            "members are sorted"
        );
        let digested = Digested {
            action_id: "01990000-0000-7000-8000-000000000001",
            agent_id: "01990000-0000-7000-8000-000000000002",
            kind: "refund",
            kind_version: 1,
            params,
            reason: "arrived broken",
        };
        assert_eq!(digested.digest(), "0ae1875d0e0a456fe9474b715071e14eaaaba2e98869927a6148fb43ac7ec95e");
        assert_eq!(
            fingerprint("refund", params),
            "4b57638f4947b75f81182e09439f72a4a128582e1877636a65f0c60292270cbf"
        );
        assert_eq!(
            derived_key("agent", "refund", params),
            "d:33f03b1b83baa676877d76d0d0dc066919dbc51a74e6871137471dfca1fa358e"
        );
    }

    #[test]
    fn every_part_counts() {
        let base = Digested {
            action_id: "a",
            agent_id: "b",
            kind: "k",
            kind_version: 1,
            params: "{}",
            reason: "r",
        };
        let others = [
            Digested {
                action_id: "a2",
                ..base
            },
            Digested {
                agent_id: "b2",
                ..base
            },
            Digested { kind: "k2", ..base },
            Digested {
                kind_version: 2,
                ..base
            },
            Digested {
                params: r#"{"x":1}"#,
                ..base
            },
            Digested { reason: "r2", ..base },
        ];
        for other in others {
            assert_ne!(other.digest(), base.digest());
        }
    }
}
