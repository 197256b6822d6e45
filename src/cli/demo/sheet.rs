//! `demo.json`: addresses, sign-ins and keys, for people and programs.

use std::{fs, io::ErrorKind, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    private_file,
};

/// In the place of a key, token or password that somebody has replaced or revoked since: whoever did knows more.
pub(super) const ENDED: &str = "(no longer valid)";

/// The file.
#[derive(Serialize, Deserialize)]
pub(super) struct Sheet {
    pub(super) dashboard_url: String,
    pub(super) mcp_url: String,
    pub(super) api_url: String,
    pub(super) people: Vec<PersonSheet>,
    pub(super) agents: Vec<AgentSheet>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PersonSheet {
    pub(super) email: String,
    pub(super) password: String,
    pub(super) role: String,
    pub(super) api_token: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct AgentSheet {
    pub(super) name: String,
    pub(super) key: String,
    pub(super) scopes: Vec<String>,
}

/// The file of an earlier start, if there was one.
pub(super) fn read(path: &Path) -> Result<Option<Sheet>> {
    let wrong = |error: &dyn std::fmt::Display| {
        let path = path.display();
        Error::Setup(format!(
            "{path} can't be read: {error}. Without the file, the demo makes new passwords and keys."
        ))
    };
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(wrong(&error)),
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| wrong(&error)),
    }
}

impl Sheet {
    /// Whether anything of it has.
    pub(super) fn has_ended(&self) -> bool {
        self.agents.iter().any(|agent| agent.key == ENDED)
            || self.people.iter().any(|person| person.api_token == ENDED)
    }

    /// Writes the file, which only its owner may read.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let mut json = serde_json::to_vec_pretty(self).map_err(|error| Error::Internal(error.into()))?;
        json.push(b'\n');
        private_file::replace(path, &json)
            .map_err(|error| Error::Setup(format!("{} can't be written: {error}.", path.display())))
    }
}
