//! `person`: the accounts of people.

use clap::{Args, Subcommand};
use serde_json::json;

use super::{open, out::say, print_json};
use crate::{
    auth::accounts::{Changed, NewPerson},
    config::Config,
    error::Result,
    store::people::{self, Role},
    text::plain,
};

/// Add, list and change the accounts of people
#[derive(Subcommand)]
pub enum Person {
    /// Add a person; the password and the API token are printed this once
    Add {
        #[command(flatten)]
        named: Named,
        /// owner, approver, auditor or viewer
        #[arg(long)]
        role: Role,
        /// Print JSON: email, role, password, api_token
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: Config,
    },
    /// List everybody
    List {
        /// Print JSON: email, role, enabled
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: Config,
    },
    /// Give a person another role; their sessions end
    Role {
        #[command(flatten)]
        named: Named,
        /// owner, approver, auditor or viewer
        #[arg(long)]
        role: Role,
        #[command(flatten)]
        config: Config,
    },
    /// Disable a person; their sessions and API token end at once
    Disable {
        #[command(flatten)]
        named: Named,
        #[command(flatten)]
        config: Config,
    },
    /// Make a new password and API token, printed this once; a disabled person is enabled
    ResetPassword {
        #[command(flatten)]
        named: Named,
        /// Print JSON: email, role, password, api_token
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: Config,
    },
}

#[derive(Args)]
pub struct Named {
    /// The person's e-mail address
    #[arg(long)]
    email: String,
}

impl Person {
    pub(super) async fn run(self) -> Result<()> {
        match self {
            Self::Add {
                named,
                role,
                json,
                config,
            } => {
                let added = open(config).await?.auth.add_person(&named.email, role).await?;
                print_new(&added, json);
            }
            Self::List { json, config } => list(config, json).await?,
            Self::Role { named, role, config } => {
                match open(config).await?.auth.set_role(&named.email, role).await? {
                    Changed::Now(person) => {
                        let then = if person.enabled { "has to sign in again" } else { "still disabled" };
                        say!("{} is {} now, and {then}.", person.email, person.role);
                    }
                    Changed::Before(person) => {
                        let but = if person.enabled { "" } else { ", and is disabled" };
                        say!("{} was {} already{but}.", person.email, person.role);
                    }
                }
            }
            Self::Disable { named, config } => match open(config).await?.auth.disable(&named.email).await? {
                Changed::Now(person) => say!("{} is disabled.", person.email),
                Changed::Before(person) => say!("{} was disabled already.", person.email),
            },
            Self::ResetPassword { named, json, config } => {
                let reset = open(config).await?.auth.reset_password(&named.email).await?;
                print_new(&reset, json);
            }
        }
        Ok(())
    }
}

fn print_new(new: &NewPerson, json: bool) {
    let (email, role) = (&new.person.email, new.person.role.as_str());
    if json {
        return print_json(&json!({
            "email": email, "role": role, "password": new.password, "api_token": new.api_token,
        }));
    }
    say!("{email} is {role}. This is shown once:");
    say!("  password   {}", new.password);
    say!("  API token  {}", new.api_token);
}

async fn list(config: Config, json: bool) -> Result<()> {
    let everybody = open(config).await?.db.read(people::all).await?;
    if json {
        let shown = |person: &people::Person| json!({ "id": person.id, "email": person.email, "role": person.role.as_str(), "enabled": person.enabled });
        print_json(&everybody.iter().map(shown).collect());
        return Ok(());
    }
    for person in everybody {
        let state = if person.enabled { "" } else { "  disabled" };
        say!("{:<8}  {}{state}", person.role.as_str(), plain(&person.email));
    }
    Ok(())
}
