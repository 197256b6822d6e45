//! `migrate`: the schema, brought up to date.

use clap::Args;

use super::{logging, out::say, secret};
use crate::{app::App, auth::accounts::Changed, config::Config, db::Db, error::Result};

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
        let place = self.config.secret_place();
        // A new secret is made only once the schema is there to be told of it.
        let config = match Db::look(&self.config.database_url)? {
            Some(db) => secret::without_making_one(self.config.clone(), &db).await?,
            None => self.config.clone(),
        };
        App::build(config)?.db.migrate().await?;
        say!("The schema is up to date.");
        if self.new_secret {
            match App::build(self.config)?.auth.replace_secret().await? {
                Changed::Now(()) => say!(
                    "{place} is this database's from now on; keys, tokens and sign-ins that were made under another don't \
                     work. Start every process anew with it."
                ),
                Changed::Before(()) => say!(
                    "Nothing was replaced: {place} is this database's already. Set another before, or remove the file."
                ),
            }
        }
        Ok(())
    }
}
