//! `agent`: agents, their keys and scopes.

use clap::{Args, Subcommand};
use serde_json::json;

use super::{open, out::say, print_json};
use crate::{
    app::App,
    auth::accounts::{Changed, NewAgent},
    config::Config,
    error::Result,
    store::{agents, people},
    text::plain,
};

/// Add, list and change agents
#[derive(Subcommand)]
pub enum Agent {
    /// Add an agent; its key is printed this once
    Add {
        #[command(flatten)]
        named: Named,
        #[command(flatten)]
        granted: Granted,
        /// The person it belongs to, by e-mail address [default: the first owner]
        #[arg(long, value_name = "EMAIL")]
        owner: Option<String>,
        /// Print JSON: name, key, scopes
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: Config,
    },
    /// List every agent
    List {
        /// Print JSON: name, scopes, owner, revoked
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: Config,
    },
    /// Replace an agent's scopes
    Scopes {
        #[command(flatten)]
        named: Named,
        #[command(flatten)]
        granted: Granted,
        #[command(flatten)]
        config: Config,
    },
    /// Make a new key, printed this once; the old one stops working
    Rotate {
        #[command(flatten)]
        named: Named,
        /// Print JSON: name, key, scopes
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: Config,
    },
    /// Revoke an agent for good; what it asked for can no longer be executed
    Revoke {
        #[command(flatten)]
        named: Named,
        #[command(flatten)]
        config: Config,
    },
}

#[derive(Args)]
pub struct Named {
    /// The agent's name
    #[arg(long)]
    name: String,
}

#[derive(Args)]
pub struct Granted {
    /// orders:read, orders:write, inventory:read or inventory:write; repeat it for more
    #[arg(long = "scope", required = true, value_name = "SCOPE")]
    scopes: Vec<String>,
}

impl Agent {
    pub(super) async fn run(self) -> Result<()> {
        match self {
            Self::Add {
                named,
                granted: Granted { scopes },
                owner,
                json,
                config,
            } => {
                let App { auth, gate, .. } = open(config).await?;
                let known = gate.registry.scopes();
                let new = auth.add_agent(&named.name, &scopes, owner.as_deref(), &known).await?;
                print_new(&new, json);
                if !json && new.agent.owner_id.is_none() {
                    say!(
                        "It belongs to nobody, because there is no owner yet. If it shall belong to one, revoke it, add \
                         them with `countersign person add --email … --role owner`, and add an agent of another name."
                    );
                }
            }
            Self::List { json, config } => list(config, json).await?,
            Self::Scopes {
                named,
                granted: Granted { scopes },
                config,
            } => {
                let App { auth, gate, .. } = open(config).await?;
                let agent = auth.set_scopes(&named.name, &scopes, &gate.registry.scopes()).await?;
                say!("{} has these scopes now: {}.", agent.name, agent.scopes);
            }
            Self::Rotate { named, json, config } => {
                print_new(&open(config).await?.auth.rotate(&named.name).await?, json);
            }
            Self::Revoke { named, config } => match open(config).await?.auth.revoke(&named.name).await? {
                Changed::Now(agent) => say!("{} is revoked.", agent.name),
                Changed::Before(agent) => say!("{} was revoked already.", agent.name),
            },
        }
        Ok(())
    }
}

fn print_new(new: &NewAgent, json: bool) {
    let NewAgent { agent, key } = new;
    if json {
        return print_json(&json!({ "name": agent.name, "key": key, "scopes": scopes(agent) }));
    }
    say!("{} has these scopes: {}. Its key is shown once:", agent.name, agent.scopes);
    say!("  {key}");
}

async fn list(config: Config, json: bool) -> Result<()> {
    let db = open(config).await?.db;
    let (agents, people) = db.read(|conn| Ok((agents::all(conn)?, people::all(conn)?))).await?;
    let owner = |agent: &agents::Agent| {
        people
            .iter()
            .find(|person| Some(&person.id) == agent.owner_id.as_ref())
            .map(|person| &person.email)
    };
    if json {
        let shown = |agent: &agents::Agent| {
            json!({
                "id": agent.id, "name": agent.name, "scopes": scopes(agent), "owner": owner(agent),
                "revoked": agent.revoked_at.is_some(),
            })
        };
        print_json(&agents.iter().map(shown).collect());
        return Ok(());
    }
    for agent in &agents {
        let owner = owner(agent).map_or("nobody", String::as_str);
        let state = if agent.revoked_at.is_some() { "  revoked" } else { "" };
        say!("{}  {}  of {}{state}", plain(&agent.name), agent.scopes, plain(owner));
    }
    Ok(())
}

fn scopes(agent: &agents::Agent) -> Vec<&str> {
    agent.scopes().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{app::registry, db::Clock};

    #[test]
    fn the_help_names_every_scope() {
        let registry = registry(&Config::on("sqlite://unused").unwrap(), Clock::default());
        let help = Granted::augment_args(clap::Command::new("grant")).render_help().to_string();
        for scope in registry.scopes() {
            assert!(help.contains(scope), "{scope} is not in: {help}");
        }
    }
}
