//! `pause` and `resume`: the owner's switch.

use clap::Args;

use super::{open, out::say};
use crate::{
    config::Config,
    db::{Conn, QueryResult},
    error::Result,
    store::{agents, pauses},
    text::shell_word,
    workflow::PauseTarget,
};

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
        (false, false) => {
            say!("There is no pause of {what}.");
            for (_, other) in app.db.read(in_force).await? {
                say!("There is one of {other}.");
            }
        }
    }
    Ok(())
}

/// Every pause, and what it is of, with the option that names it.
pub(super) fn in_force(conn: &mut Conn) -> QueryResult<Vec<(pauses::Pause, String)>> {
    let (paused, agents) = (pauses::all(conn)?, agents::all(conn)?);
    let named = |pause: pauses::Pause| {
        let what = match PauseTarget::from_key(&pause.target) {
            Some(PauseTarget::Kind(name)) => format!("a kind (--kind {name})"),
            Some(PauseTarget::Agent(id)) => {
                let name = agents.iter().find(|agent| agent.id == id).map_or(&id, |agent| &agent.name);
                format!("an agent (--agent {})", shell_word(name))
            }
            Some(PauseTarget::Everything) | None => "everything".to_owned(),
        };
        (pause, what)
    };
    Ok(paused.into_iter().map(named).collect())
}
