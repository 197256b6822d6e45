//! `backup`: a copy of the whole database, while it serves.

use std::path::PathBuf;

use clap::Args;

use super::{open, out::say, serve::stopped};
use crate::{
    config::Config,
    db,
    error::{Error, Result},
};

/// Copy the whole database into a file, while it serves
///
/// For SQLite; Postgres has tools of its own. The copy is paused: it forgets what is executed after it, so whoever serves a
/// database that is restored from it finds everything paused, until an owner resumes it. The secret that is kept beside the
/// database's file is not in the copy: keep it too.
#[derive(Args)]
pub struct Backup {
    /// The file to make; one that is there is never replaced
    file: PathBuf,
    #[command(flatten)]
    config: Config,
}

impl Backup {
    pub(super) async fn run(self) -> Result<()> {
        let stopped = stopped()?;
        let copy = db::Backup::begin(&self.config.database_url, &self.file)?;
        let gate = open(self.config).await?.gate;
        let moment = tokio::select! {
            made = gate.back_up(copy) => made?,
            () = stopped => return Err(Error::Setup("No backup was made: it was stopped.".to_owned())),
        };
        say!(
            "{} is the database as of {} UTC. What is restored from it is paused until an owner resumes it.",
            self.file.display(),
            moment.format("%-d %b %Y %H:%M")
        );
        Ok(())
    }
}
