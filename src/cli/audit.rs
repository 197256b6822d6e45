//! `audit export`: the log as a file.

use std::io::{ErrorKind, Write, stdout};

use clap::Subcommand;

use super::open;
use crate::{
    audit::{
        export::{Export, Format},
        log::Moment,
    },
    config::Config,
    error::{Error, Result},
};

/// Take the audit log elsewhere
#[derive(Subcommand)]
pub enum Audit {
    /// Write the log to standard output, oldest event first
    Export {
        /// jsonl or csv
        #[arg(long, default_value = "jsonl")]
        format: Format,
        /// From this day or time (UTC), such as 2026-01-31 or 2026-01-31T09:30:00Z
        #[arg(long, value_name = "TIME")]
        since: Option<Moment>,
        /// Up to this day or time, and without it
        #[arg(long, value_name = "TIME")]
        until: Option<Moment>,
        #[command(flatten)]
        config: Config,
    },
}

impl Audit {
    pub(super) async fn run(self) -> Result<()> {
        let Self::Export {
            format,
            since,
            until,
            config,
        } = self;
        let mut export = Export::new(&open(config).await?.db, format, since, until);
        while let Some(piece) = export.next().await? {
            if let Err(error) = stdout().write_all(piece.as_bytes()) {
                return match error.kind() {
                    // Whoever read has seen enough.
                    ErrorKind::BrokenPipe => Ok(()),
                    _ => Err(Error::Setup(format!("The export can't be written: {error}."))),
                };
            }
        }
        if export.is_cut_short() {
            return Err(Error::Setup(
                "Nothing was exported: a transaction that does not end may still add an event. Run it again later."
                    .to_owned(),
            ));
        }
        Ok(())
    }
}
