//! `migrate`: the schema, brought up to date.

use clap::Args;

use super::{logging, no_database, out::say, secret};
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
        let config = match Db::look(&self.config.database_url)? {
            // A new secret is made only once the schema is there to be told of it.
            Some(db) => secret::without_making_one(self.config.clone(), &db).await?,
            None if self.new_secret => return Err(no_database(&self.config)),
            None => self.config.clone(),
        };
        App::build(config)?.db.migrate().await?;
        say!("The schema is up to date.");
        if self.new_secret {
            replace(self.config).await?;
        }
        Ok(())
    }
}

async fn replace(config: Config) -> Result<()> {
    let (place, database) = (config.secret_place(), config.database_url.clone());
    match App::build(config)?.auth.replace_secret().await? {
        Changed::Now(()) => say!(
            "{place} is that of {database} from now on. Keys, tokens and sign-ins that were made under another no longer work, \
             once no process runs with that one."
        ),
        Changed::Before(()) => say!(
            "Nothing was replaced: {place} was that of {database} already. Set a new one first, or remove the file that \
             holds it."
        ),
    }
    Ok(())
}
