//! `migrate`: the schema, brought up to date.

use clap::Args;

use super::{logging, out::say};
use crate::{app::App, auth::accounts::Changed, config::Config, error::Result};

/// Bring the database's schema up to date; safe while others do the same
#[derive(Args)]
pub struct Migrate {
    /// Make the secret of these settings the database's; keys, tokens and sign-ins of another stop working
    #[arg(long)]
    new_secret: bool,
    #[command(flatten)]
    config: Config,
}

impl Migrate {
    pub(super) async fn run(self) -> Result<()> {
        logging::start(self.config.log);
        let App { db, auth, .. } = App::build(self.config)?;
        db.migrate().await?;
        say!("The schema is up to date.");
        if self.new_secret {
            match auth.replace_secret().await? {
                Changed::Now(()) => say!(
                    "Keys, tokens and sign-ins are made under this secret from now on; those of another don't work. Start \
                     every process anew with it."
                ),
                Changed::Before(()) => say!("Keys, tokens and sign-ins were made under this secret already."),
            }
        }
        Ok(())
    }
}
