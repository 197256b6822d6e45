//! `pause` and `resume`: the owner's switch.

use clap::Args;

use super::{open, out::say};
use crate::{config::Config, error::Result, store::agents, workflow::PauseTarget};

/// Stop new requests and approvals, of everything, one kind or one agent
#[derive(Args)]
pub struct Pause {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    config: Config,
}

/// Let new requests and approvals through again
#[derive(Args)]
pub struct Resume {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    config: Config,
}

#[derive(Args)]
struct Target {
    /// Only this kind, such as refund
    #[arg(long, conflicts_with = "agent")]
    kind: Option<String>,
    /// Only this agent, by its name
    #[arg(long)]
    agent: Option<String>,
}

impl Pause {
    pub(super) async fn run(self) -> Result<()> {
        switch(self.config, self.target, true).await
    }
}

impl Resume {
    pub(super) async fn run(self) -> Result<()> {
        switch(self.config, self.target, false).await
    }
}

async fn switch(config: Config, target: Target, on: bool) -> Result<()> {
    let app = open(config).await?;
    let (what, target) = match target {
        Target {
            agent: Some(name), ..
        } => {
            let wanted = name.clone();
            let agent = app.db.read(move |conn| agents::by_name(conn, &wanted)).await?;
            (format!("the agent {name}"), agent.map(|agent| PauseTarget::Agent(agent.id)))
        }
        Target { kind: Some(kind), .. } => (format!("the kind {kind}"), Some(PauseTarget::Kind(kind))),
        Target { .. } => ("everything".to_owned(), Some(PauseTarget::Everything)),
    };
    let changed = app.gate.set_pause_as_operator(target, on).await?;
    match (on, changed) {
        (true, true) => say!("Paused {what}. Rejecting and withdrawing still work."),
        (true, false) => say!("The pause of {what} is in force already."),
        (false, true) => say!("Resumed {what}."),
        (false, false) => say!("There is no pause of {what}."),
    }
    Ok(())
}
