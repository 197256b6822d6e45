//! `prune`: old payloads go, the rows that answer repeated requests stay.

use chrono::TimeDelta;
use clap::Args;

use super::{open, out::say};
use crate::{
    config::{Config, Lifetime},
    error::{Error, Result},
};

/// Drop params, reasons, notes and changes of actions that ended long ago; their keys still answer
#[derive(Args)]
pub struct Prune {
    /// How long ago they ended at least: a number with s, m, h or d
    #[arg(long, value_name = "DURATION")]
    older_than: Lifetime,
    #[command(flatten)]
    config: Config,
}

impl Prune {
    pub(super) async fn run(self) -> Result<()> {
        let older_than = TimeDelta::from_std(self.older_than.duration())
            .map_err(|_| Error::Setup("--older-than is too long.".to_owned()))?;
        let pruned = open(self.config).await?.gate.prune(older_than).await?;
        say!("Pruned {pruned} action{}.", if pruned == 1 { "" } else { "s" });
        Ok(())
    }
}
