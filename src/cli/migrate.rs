//! `migrate`: the schema, brought up to date.

use clap::Args;

use super::{logging, out::say};
use crate::{app::App, config::Config, error::Result};

/// Bring the database's schema up to date; safe while others do the same
#[derive(Args)]
pub struct Migrate {
    #[command(flatten)]
    config: Config,
}

impl Migrate {
    pub(super) async fn run(self) -> Result<()> {
        logging::start(self.config.log);
        App::build(self.config)?.db.migrate().await?;
        say!("The schema is up to date.");
        Ok(())
    }
}
