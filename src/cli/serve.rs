//! `serve`: dashboard, REST, MCP over HTTP and the sweeper in one process.

use std::net::{SocketAddr, TcpListener};

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::{logging, on_existing, secret};
use crate::{
    app::{self, App},
    config::Config,
    error::{Error, Result},
};

/// Serve the dashboard, REST and MCP over HTTP; the schema is brought up to date first
#[derive(Args)]
pub struct Serve {
    #[command(flatten)]
    config: Config,
}

impl Serve {
    pub(super) async fn run(self) -> Result<()> {
        logging::start(self.config.log);
        self.config.check_public_url()?;
        let (listener, listen) = bind(self.config.listen)?;
        let config = Config {
            listen,
            ..self.config
        };
        secret::check(&config, secret::REPLACE).await?;
        let app = if config.no_migrate {
            on_existing(config).await?
        } else {
            let app = App::build(config)?;
            app.db.migrate().await?;
            app
        };
        if app.auth.tell_secret().await? {
            tracing::warn!(
                "{} is taken for the one under which this database's keys are made; if they are refused now, stop this, run \
                 `countersign migrate --new-secret` under the right secret, and start with that",
                app.config.secret_place()
            );
        }
        serve(app, listener).await
    }
}

/// Takes the address, and tells the port where 0 left the choice to the system.
pub(super) fn bind(listen: SocketAddr) -> Result<(TcpListener, SocketAddr)> {
    let failed = |error: std::io::Error| {
        Error::Setup(format!(
            "COUNTERSIGN_LISTEN (--listen) is {listen}, which can't be listened on: {error}."
        ))
    };
    let listener = TcpListener::bind(listen).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Serves until SIGTERM or SIGINT.
pub(super) async fn serve(app: App, listener: TcpListener) -> Result<()> {
    let stopped = stopped()?;
    // A database that is away by now says so by itself.
    if let Ok(Some(why)) = app.gate.restored().await {
        tracing::warn!("everything is paused until an owner resumes it, because this database was {why}");
    }
    let Config {
        listen, database_url, ..
    } = &app.config;
    tracing::info!(%listen, url = %app.config.public_url(), database = %database_url, "serving");
    let stopping = async {
        stopped.await;
        tracing::info!("stopping");
    };
    app::serve(app, listener, stopping).await?;
    tracing::info!("stopped");
    Ok(())
}

/// Resolves when somebody asks the process to stop.
pub(super) fn stopped() -> Result<impl Future<Output = ()>> {
    let listen = |kind| signal(kind).map_err(|error| Error::Internal(error.into()));
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
