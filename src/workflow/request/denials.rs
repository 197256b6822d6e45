//! What an agent is told whose request opens nothing.

use crate::error::{Code, Denial};

/// The denial of a call beyond the agent's scopes.
pub fn scope_missing(scope: &str) -> Denial {
    Denial::new(
        Code::ScopeMissing,
        format!("This key does not have the scope {scope}. Ask the agent's owner for it."),
    )
}

/// The denial of a key that was good at the door, and is no longer.
pub fn no_valid_key() -> Denial {
    Denial::new(Code::Unauthenticated, "The agent key is not valid.")
}

pub(super) fn key_required() -> Denial {
    Denial {
        field: Some("idempotency_key".to_owned()),
        ..Denial::new(
            Code::IdempotencyKeyRequired,
            "This kind of write needs an idempotency_key: a name of your own for this one write, the same on every retry.",
        )
    }
}

pub(super) fn key_reused() -> Denial {
    Denial {
        field: Some("idempotency_key".to_owned()),
        ..Denial::new(
            Code::IdempotencyKeyReused,
            "This idempotency_key already names a write with other arguments. Use the arguments of that write, or another \
             key for another write.",
        )
    }
}

pub(super) fn too_many_writes(seconds: u64) -> Denial {
    Denial {
        retry_after_seconds: Some(seconds),
        ..Denial::new(
            Code::RateLimited,
            format!("Too many new requests from this agent. Send the same call again in {seconds} s."),
        )
    }
}
