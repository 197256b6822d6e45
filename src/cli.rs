//! The command line: one file per command.

mod agent;
mod audit;
mod backup;
mod check;
mod connect;
mod demo;
mod logging;
mod mcp;
mod migrate;
mod out;
mod pause;
mod person;
mod prune;
mod secret;
mod seed;
mod serve;

use clap::{CommandFactory, Parser, Subcommand};

pub use out::complain;
use out::say;

use crate::{
    app::App,
    config::{self, Config},
    db::Db,
    error::{Error, Result},
};

/// The approval gate for AI agents: they read freely, every write waits for a person.
#[derive(Parser)]
#[command(version, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Demo),
    Serve(serve::Serve),
    Mcp(mcp::Mcp),
    Migrate(migrate::Migrate),
    Seed(seed::Seed),
    #[command(subcommand)]
    Person(person::Person),
    #[command(subcommand)]
    Agent(agent::Agent),
    Prune(prune::Prune),
    Backup(backup::Backup),
    Pause(pause::Pause),
    Resume(pause::Resume),
    Connect(connect::Connect),
    #[command(subcommand)]
    Audit(audit::Audit),
    Check(check::Check),
}

impl Cli {
    /// Reads the process's arguments and environment. Where those are asking for help, or are wrong in themselves, this
    /// says so and ends the process.
    ///
    /// # Errors
    /// `Setup` for a value that a setting can't take.
    pub fn read() -> Result<Self> {
        Self::try_parse().map_err(|error| match config::refused(&error, &Self::command()) {
            Some(sentence) => Error::Setup(sentence),
            None => error.exit(),
        })
    }

    /// Does what was asked.
    pub async fn run(self) -> Result<()> {
        match self.command {
            Command::Demo(demo) => demo.run().await,
            Command::Serve(serve) => serve.run().await,
            Command::Mcp(mcp) => mcp.run().await,
            Command::Migrate(migrate) => migrate.run().await,
            Command::Seed(seed) => seed.run().await,
            Command::Person(person) => person.run().await,
            Command::Agent(agent) => agent.run().await,
            Command::Prune(prune) => prune.run().await,
            Command::Backup(backup) => backup.run().await,
            Command::Pause(pause) => pause.run().await,
            Command::Resume(resume) => resume.run().await,
            Command::Connect(connect) => connect.run(),
            Command::Audit(audit) => audit.run().await,
            Command::Check(check) => check.run().await,
        }
    }
}

/// What is printed of an error before the process ends with 1.
pub fn sentence(error: &Error) -> String {
    match error {
        Error::Denied(denial) => denial.message.clone(),
        Error::Setup(sentence) => sentence.clone(),
        // The rest of what a database says of itself is advice for its own clients.
        Error::Unavailable(cause) => {
            let cause = cause.to_string();
            format!("The database can't be reached: {}", cause.lines().next().unwrap_or_default())
        }
        Error::Internal(cause) => format!("Something went wrong inside Countersign: {cause}"),
    }
}

/// For commands that do one thing: [`on_existing`], with logging.
async fn open(config: Config) -> Result<App> {
    logging::start(config.log);
    on_existing(config).await
}

/// The application on a database that is there and up to date. A mistyped path makes nothing.
async fn on_existing(config: Config) -> Result<App> {
    let Some(db) = Db::look(&config.database_url)? else {
        return Err(no_database(&config));
    };
    db.check_schema().await?;
    App::build(secret::without_making_one(config, &db).await?)
}

fn no_database(config: &Config) -> Error {
    Error::Setup(format!(
        "DATABASE_URL (--database-url) is {}, where no database is yet. Correct it, or make one with `countersign migrate`.",
        config.database_url
    ))
}

/// Prints a value for programs.
fn print_json(value: &serde_json::Value) {
    say!("{value:#}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
