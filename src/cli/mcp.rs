//! `mcp`: MCP over standard input and output.

use clap::Args;
use tokio::io::{stdin, stdout};

use super::{logging, open, secret, serve::stopped};
use crate::{
    config::{self, Config, LogStyle},
    error::{Error, Result},
    mcp::{bridge, stdio},
};

/// Speak MCP over standard input and output: a bridge to a server, or straight on a database for trying out
///
/// With COUNTERSIGN_URL, everything is passed on to the server's /mcp. Without it, the database of DATABASE_URL is opened
/// here, with the settings of the environment; whoever can start that can also change the database itself.
#[derive(Args)]
pub struct Mcp {
    /// The server, as https://HOST
    #[arg(long, env = "COUNTERSIGN_URL", value_name = "URL", value_parser = config::server)]
    url: Option<String>,

    /// The agent's key
    #[arg(long, env = "COUNTERSIGN_AGENT_KEY", hide_env_values = true, value_name = "KEY")]
    agent_key: Option<String>,

    /// Where the database is, without a server. A bridge does not look at it: the variable may belong to another program
    #[arg(
        long,
        env = "DATABASE_URL",
        default_value = "sqlite://countersign.db",
        hide_env_values = true,
        value_name = "DATABASE"
    )]
    database_url: String,

    /// What is logged to stderr: error, warn, info, debug or trace, and json for machines, separated by commas
    #[arg(long, env = "COUNTERSIGN_LOG", default_value = "warn", value_name = "LEVEL")]
    log: LogStyle,
}

impl Mcp {
    pub(super) async fn run(self) -> Result<()> {
        let key = self.agent_key.filter(|key| !key.trim().is_empty()).ok_or_else(|| {
            Error::Setup(
                "COUNTERSIGN_AGENT_KEY (--agent-key) is missing; `countersign agent add` prints one."
                    .to_owned(),
            )
        })?;
        // A bad setting is told of, whether or not this way of serving needs it.
        let database = if self.url.is_some() { Config::DEFAULT_DATABASE } else { &self.database_url };
        let config = Config {
            log: self.log,
            ..Config::on(database)?
        };
        if let Some(url) = &self.url {
            logging::start(self.log);
            return bridge::run(url, &key, stdin(), stdout()).await;
        }
        secret::check(&config, secret::REPLACE).await?;
        let app = open(config).await?;
        let chores = app.begin_chores();
        let stopped = stopped()?;
        let served = tokio::select! {
            served = stdio::serve(app.gateway, key, stdin(), stdout()) => served,
            () = stopped => Ok(()),
        };
        drop(chores);
        app.auth.write_down_the_last_failures().await;
        served
    }
}
