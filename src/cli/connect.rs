//! `connect`: the set-up of an MCP client.

use clap::Args;

use super::out::say;
use crate::{
    config::{self, Config},
    error::Result,
    mcp::connect::{Client, KEY_PLACEHOLDER, set_up},
};

/// Print the set-up of an MCP client, ready to paste
#[derive(Args)]
pub struct Connect {
    /// claude-code, claude-desktop, cursor or vscode
    client: Client,

    /// The server, as https://HOST [default: the public URL]
    #[arg(long, env = "COUNTERSIGN_URL", value_name = "URL", value_parser = config::server)]
    url: Option<String>,

    /// The agent's key [default: a placeholder]
    #[arg(long, env = "COUNTERSIGN_AGENT_KEY", hide_env_values = true, value_name = "KEY")]
    agent_key: Option<String>,
}

impl Connect {
    pub(super) fn run(self) -> Result<()> {
        // Of the settings only the address matters here, and no database is opened.
        let config = Config::on(Config::DEFAULT_DATABASE)?;
        let url = self.url.unwrap_or_else(|| config.public_url().to_string());
        let key = self.agent_key.as_deref().unwrap_or(KEY_PLACEHOLDER);
        say!("{}", set_up(self.client, &url, key).trim_end());
        Ok(())
    }
}
