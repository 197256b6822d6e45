//! The `countersign` program: reads the command line, calls the library, and ends with 0 or 1.

use std::{process::ExitCode, time::Duration};

use countersign::{
    cli::{self, Cli},
    error::{Error, Result},
};
use tokio::runtime::Runtime;

fn main() -> ExitCode {
    rustls::crypto::ring::default_provider().install_default().expect("nothing came before");
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            cli::complain(&cli::sentence(&error));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let command_line = Cli::read()?;
    let runtime = Runtime::new().map_err(|error| Error::Internal(error.into()))?;
    let outcome = runtime.block_on(command_line.run());
    // A read of standard input can't be called off.
    runtime.shutdown_timeout(Duration::from_millis(100));
    outcome
}
