//! The set-up that each MCP client expects to be given, ready to paste.

use std::str::FromStr;

use serde_json::{Value, json};

use crate::text::shell_word;

/// Stands for the key where it isn't known.
pub const KEY_PLACEHOLDER: &str = "KEY";

/// A client with a set-up of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    VsCode,
}

impl Client {
    /// Every client, in the order of the manual.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::ClaudeDesktop, Self::Cursor, Self::VsCode];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
        }
    }
}

impl FromStr for Client {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|client| client.name() == name)
            .ok_or_else(|| format!("There is no set-up for `{name}`. Known are {names}."))
    }
}

/// What to paste where, for this client, with a server at `url` (without `/mcp`) and an agent's key.
pub fn set_up(client: Client, url: &str, key: &str) -> String {
    let url = url.trim_end_matches('/');
    match client {
        Client::ClaudeCode => claude_code(url, key),
        Client::ClaudeDesktop => claude_desktop(url, key),
        Client::Cursor => cursor(url, key),
        Client::VsCode => vscode(url),
    }
}

/// `--header` and `--env` take whatever follows them, up to the next option: the name stands elsewhere.
fn claude_code(url: &str, key: &str) -> String {
    let endpoint = shell_word(&format!("{url}/mcp"));
    let header = shell_word(&format!("Authorization: Bearer {key}"));
    let (url, key) = (
        shell_word(&format!("COUNTERSIGN_URL={url}")),
        shell_word(&format!("COUNTERSIGN_AGENT_KEY={key}")),
    );
    format!(
        "# Run this once:\n\
         claude mcp add --transport http countersign {endpoint} --header {header}\n\
         \n\
         # Or, where only stdio will do, through the bridge:\n\
         claude mcp add --env {url} --env {key} --transport stdio countersign -- countersign mcp\n"
    )
}

fn claude_desktop(url: &str, key: &str) -> String {
    let server = json!({
        "command": "countersign",
        "args": ["mcp"],
        "env": {"COUNTERSIGN_URL": url, "COUNTERSIGN_AGENT_KEY": key},
    });
    format!(
        "# Put this into claude_desktop_config.json (Settings > Developer > Edit Config), and start Claude again.\n\
         # `countersign` must be on the PATH, or give its full path.\n{}\n",
        pretty(&json!({"mcpServers": {"countersign": server}}))
    )
}

fn cursor(url: &str, key: &str) -> String {
    let server = json!({
        "url": format!("{url}/mcp"),
        "headers": {"Authorization": "Bearer ${env:COUNTERSIGN_AGENT_KEY}"},
    });
    format!(
        "# Put this into .cursor/mcp.json; the file holds no secret.\n{}\n\n\
         # And start Cursor with the key in its environment:\n\
         export {}\n",
        pretty(&json!({"mcpServers": {"countersign": server}})),
        shell_word(&format!("COUNTERSIGN_AGENT_KEY={key}")),
    )
}

fn vscode(url: &str) -> String {
    let set_up = json!({
        "inputs": [{
            "type": "promptString",
            "id": "countersign-key",
            "description": "Countersign agent key",
            "password": true,
        }],
        "servers": {"countersign": {
            "type": "http",
            "url": format!("{url}/mcp"),
            "headers": {"Authorization": "Bearer ${input:countersign-key}"},
        }},
    });
    format!(
        "# Put this into .vscode/mcp.json; VS Code asks for the key and keeps it. The file holds no secret.\n{}\n",
        pretty(&set_up)
    )
}

fn pretty(set_up: &Value) -> String {
    format!("{set_up:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://gate.example.com";
    const KEY: &str = "cs_a_0123456789abcdef";

    #[test]
    fn claude_code_gets_two_commands() {
        insta::assert_snapshot!(set_up(Client::ClaudeCode, URL, KEY), @r#"
        # Run this once:
        claude mcp add --transport http countersign https://gate.example.com/mcp --header "Authorization: Bearer cs_a_0123456789abcdef"

        # Or, where only stdio will do, through the bridge:
        claude mcp add --env COUNTERSIGN_URL=https://gate.example.com --env COUNTERSIGN_AGENT_KEY=cs_a_0123456789abcdef --transport stdio countersign -- countersign mcp
        "#);
    }

    #[test]
    fn claude_desktop_gets_the_bridge() {
        insta::assert_snapshot!(set_up(Client::ClaudeDesktop, URL, KEY), @r##"
        # Put this into claude_desktop_config.json (Settings > Developer > Edit Config), and start Claude again.
        # `countersign` must be on the PATH, or give its full path.
        {
          "mcpServers": {
            "countersign": {
              "command": "countersign",
              "args": [
                "mcp"
              ],
              "env": {
                "COUNTERSIGN_URL": "https://gate.example.com",
                "COUNTERSIGN_AGENT_KEY": "cs_a_0123456789abcdef"
              }
            }
          }
        }
        "##);
    }

    #[test]
    fn cursor_reads_the_key_from_the_environment() {
        insta::assert_snapshot!(set_up(Client::Cursor, "https://gate.example.com/", KEY), @r##"
        # Put this into .cursor/mcp.json; the file holds no secret.
        {
          "mcpServers": {
            "countersign": {
              "url": "https://gate.example.com/mcp",
              "headers": {
                "Authorization": "Bearer ${env:COUNTERSIGN_AGENT_KEY}"
              }
            }
          }
        }

        # And start Cursor with the key in its environment:
        export COUNTERSIGN_AGENT_KEY=cs_a_0123456789abcdef
        "##);
    }

    #[test]
    fn vscode_asks_for_the_key() {
        insta::assert_snapshot!(set_up(Client::VsCode, URL, KEY), @r##"
        # Put this into .vscode/mcp.json; VS Code asks for the key and keeps it. The file holds no secret.
        {
          "inputs": [
            {
              "type": "promptString",
              "id": "countersign-key",
              "description": "Countersign agent key",
              "password": true
            }
          ],
          "servers": {
            "countersign": {
              "type": "http",
              "url": "https://gate.example.com/mcp",
              "headers": {
                "Authorization": "Bearer ${input:countersign-key}"
              }
            }
          }
        }
        "##);
    }

    #[test]
    fn names_go_both_ways() {
        for client in Client::ALL {
            assert_eq!(client.name().parse(), Ok(client));
        }
        assert_eq!(
            "emacs".parse::<Client>(),
            Err("There is no set-up for `emacs`. Known are claude-code, claude-desktop, cursor, vscode."
                .to_owned())
        );
    }

    #[test]
    fn odd_addresses_stay_one_word_of_the_shell() {
        assert_eq!(shell_word("a?b=$HOME"), "'a?b=$HOME'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "\"\"");
    }
}
