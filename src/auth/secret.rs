//! The server's secret: without it, a leaked database opens nothing.

use std::{fs, io::ErrorKind, path::Path, str::FromStr, sync::Arc};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::token::{self, TokenKind};
use crate::{
    error::{Error, Result},
    kinds::canonical::hex,
    private_file,
};

/// `COUNTERSIGN_SECRET`; keys every HMAC.
#[derive(Clone)]
pub struct Secret(Arc<[u8]>);

/// The shortest secret, in bytes.
const MIN_BYTES: usize = 32;
/// Words that only an example secret has in it.
const EXAMPLES: [&str; 4] = ["example", "change", "secret", "password"];

impl Secret {
    /// A secret from the configuration.
    ///
    /// # Errors
    /// `Setup` when it is short, or looks like one from a manual.
    pub fn new(text: &str) -> Result<Self> {
        text.parse().map_err(|why| Error::Setup(format!("COUNTERSIGN_SECRET {why}.")))
    }

    /// The secret kept in `path`; nothing if there is no such file.
    ///
    /// # Errors
    /// `Setup` when it can't be read, or is no secret.
    pub fn kept(path: &Path) -> Result<Option<Self>> {
        match fs::read_to_string(path) {
            Ok(text) => text.trim().parse().map(Some).map_err(|why: String| unusable(path, &why)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unusable(path, &format!("can't be read: {error}"))),
        }
    }

    /// The secret kept in `path`, made now if there is none. Two processes that start together end up with the same one.
    ///
    /// # Errors
    /// As [`Secret::kept`], and when it can't be made.
    pub fn beside(path: &Path) -> Result<Self> {
        if let Some(kept) = Self::kept(path)? {
            return Ok(kept);
        }
        private_file::make(path, Self::random_text().as_bytes())
            .map_err(|error| unusable(path, &format!("can't be made: {error}")))?;
        Self::kept(path)?.ok_or_else(|| unusable(path, "is gone again"))
    }

    /// The text of a new one.
    pub fn random_text() -> String {
        hex(&random::<32>())
    }

    /// Lower-hex HMAC-SHA256 of a text, for one purpose.
    pub fn mac(&self, purpose: &str, text: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(purpose.as_bytes());
        mac.update(b"\n");
        mac.update(text.as_bytes());
        hex(&mac.finalize().into_bytes())
    }

    /// Takes in what a stranger presents as a token. Malformed ones take the same way as unknown ones.
    pub fn present(&self, kind: TokenKind, text: &str) -> Presented {
        let prefix = token::prefix(kind, text).unwrap_or("none").to_owned();
        Presented {
            mac: self.mac("token", text),
            prefix,
        }
    }
}

impl FromStr for Secret {
    type Err = String;

    /// The error says what is wrong, and does not repeat the text.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() < MIN_BYTES {
            return Err(format!("must have at least {MIN_BYTES} bytes"));
        }
        let lower = text.to_lowercase();
        let first = text.as_bytes().first();
        let repeated = text.as_bytes().iter().all(|byte| Some(byte) == first);
        if repeated || EXAMPLES.iter().any(|word| lower.contains(word)) {
            return Err(
                "looks like an example; make one, for instance with `openssl rand -hex 32`".to_owned()
            );
        }
        Ok(Self(text.as_bytes().into()))
    }
}

fn unusable(path: &Path, why: &str) -> Error {
    Error::Setup(format!("The secret file {} {why}.", path.display()))
}

/// A token as presented, not yet known to be genuine.
pub struct Presented {
    prefix: String,
    mac: String,
}

impl Presented {
    /// Finds the stored token.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Whether the stored token is this one. Takes the same time when there is none.
    pub fn matches(&self, stored: Option<&str>) -> bool {
        let nothing = "0".repeat(self.mac.len());
        equal(stored.unwrap_or(&nothing), &self.mac) & stored.is_some()
    }
}

/// Compares two secrets in constant time.
pub fn equal(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

/// Bytes from the operating system's random source.
pub(super) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has a random source");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_example_secrets_are_refused() {
        for bad in [
            "",
            "short",
            "change-me-change-me-change-me-change-me",
            &"x".repeat(40),
            "an example secret of forty characters!!",
        ] {
            assert!(Secret::new(bad).is_err(), "{bad}");
        }
        assert!(Secret::new("9f86d081884c7d659a2feaa0c55ad015").is_ok());
    }

    #[test]
    fn a_generated_secret_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.secret");
        let first = Secret::beside(&path).unwrap();
        let second = Secret::beside(&path).unwrap();
        assert_eq!(first.mac("p", "t"), second.mac("p", "t"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left behind");
    }
}
