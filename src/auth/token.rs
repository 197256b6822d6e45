//! Keys and tokens: random, recognisable, and checked for typing errors before anything else.
//!
//! `cs_a_` (agent), `cs_p_` (person) or `cs_s_` (session), then 12 characters that find the row, 32 that prove it, and
//! 6 of a CRC-32, all base 62.

use super::{Secret, secret::random};
use crate::db::text_enum;

text_enum! {
    /// Whose token it is.
    pub enum TokenKind {
        Agent = "cs_a_",
        Person = "cs_p_",
        Session = "cs_s_",
    }
}

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX_CHARS: usize = 12;
const PROOF_CHARS: usize = 32;
const CHECK_CHARS: usize = 6;

/// A new token: `text` is shown once, the rest is stored.
pub struct Issued {
    pub text: String,
    pub prefix: String,
    pub mac: String,
}

impl Secret {
    /// Makes a token.
    pub fn issue(&self, kind: TokenKind) -> Issued {
        let prefix = digits(PREFIX_CHARS);
        let body = format!("{kind}{prefix}{}", digits(PROOF_CHARS));
        let text = format!("{body}{}", checksum(&body));
        Issued {
            mac: self.mac("token", &text),
            prefix,
            text,
        }
    }
}

/// The part of a well-formed token that finds its row.
pub(super) fn prefix(kind: TokenKind, text: &str) -> Option<&str> {
    let rest = text.strip_prefix(kind.as_str())?;
    let well_formed = rest.len() == PREFIX_CHARS + PROOF_CHARS + CHECK_CHARS
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && text.ends_with(&checksum(&text[..text.len() - CHECK_CHARS]));
    well_formed.then(|| &rest[..PREFIX_CHARS])
}

/// Random digits of base 62, each equally likely.
pub(super) fn digits(count: usize) -> String {
    let mut text = String::with_capacity(count);
    while text.len() < count {
        let [byte] = random::<1>();
        // 248 is the largest multiple of 62 that fits in a byte.
        if byte < 248 {
            text.push(char::from(DIGITS[usize::from(byte % 62)]));
        }
    }
    text
}

fn checksum(body: &str) -> String {
    let mut crc = crc32fast::hash(body.as_bytes());
    let mut text = [b'0'; CHECK_CHARS];
    for digit in text.iter_mut().rev() {
        *digit = DIGITS[(crc % 62) as usize];
        crc /= 62;
    }
    text.iter().copied().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_by_its_prefix_and_a_mistyped_one_is_not() {
        let secret = Secret::new("9f86d081884c7d659a2feaa0c55ad015").unwrap();
        let issued = secret.issue(TokenKind::Agent);
        assert_eq!(prefix(TokenKind::Agent, &issued.text), Some(issued.prefix.as_str()));
        assert_eq!(prefix(TokenKind::Person, &issued.text), None, "a key of one kind is none of another");
        let mistyped = issued.text.replacen(
            &issued.prefix[..1],
            if issued.prefix.starts_with('x') { "y" } else { "x" },
            1,
        );
        assert_eq!(prefix(TokenKind::Agent, &mistyped), None);
        for junk in ["", "cs_a_", "cs_a_é", &"cs_a_".repeat(11)] {
            assert_eq!(prefix(TokenKind::Agent, junk), None, "{junk}");
        }
        assert!(secret.present(TokenKind::Agent, &issued.text).matches(Some(&issued.mac)));
        assert!(!secret.present(TokenKind::Agent, &issued.text).matches(None));
    }
}
