//! What the codes mean in HTTP: the one table that the dashboard and REST share. Numbers only, no server.

use crate::error::Code;

/// The HTTP status of an answer with this code.
pub fn status(code: Code) -> u16 {
    match code {
        Code::InvalidParams | Code::IdempotencyKeyRequired => 400,
        Code::Unauthenticated => 401,
        Code::Forbidden | Code::ScopeMissing => 403,
        Code::NotFound => 404,
        Code::Paused
        | Code::IdempotencyKeyReused
        | Code::DigestMismatch
        | Code::SubjectChanged
        | Code::RelatedActions
        | Code::AlreadyDecided => 409,
        Code::RuleRefused => 422,
        Code::RateLimited => 429,
        Code::Internal => 500,
        Code::Unavailable => 503,
    }
}

/// The body is larger than the door reads.
pub const TOO_LARGE: u16 = 413;
/// The body is in a form the door doesn't read.
pub const WRONG_TYPE: u16 = 415;
/// The path is there, but takes other methods.
pub const WRONG_METHOD: u16 = 405;

/// The request carries a name that is none of this server's.
pub const MISDIRECTED: u16 = 421;
/// What is said of that.
pub const MISDIRECTED_SENTENCE: &str = "This server is not known by that name. Open it at the address in \
     COUNTERSIGN_PUBLIC_URL, or have the operator set that to the address you use.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_an_error() {
        for code in Code::ALL {
            assert!((400..600).contains(&status(code)), "{}", code.as_str());
        }
    }
}
