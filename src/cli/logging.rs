//! The log goes to standard error: standard output is for answers, and for MCP.

use std::io::{IsTerminal, stderr};

use tracing::{Level, level_filters::LevelFilter};
use tracing_subscriber::EnvFilter;

use crate::config::LogStyle;

/// Where the HTTP library reads what strangers send, and where the MCP library answers clients who have hung up.
const STRANGERS: &str = ",actix_http::h1::dispatcher=off,actix_http::h1::decoder=off,actix_http::h2::dispatcher=off,\
     rmcp::service=off";

/// Starts logging.
pub(super) fn start(style: LogStyle) {
    // Libraries are of interest to whoever looks for a defect, and otherwise only when something is wrong.
    let others = if style.level > Level::INFO {
        style.level
    } else {
        style.level.min(Level::WARN)
    };
    // The MCP library logs whole requests, reasons and all, and ids as agents chose them.
    let mut filter = format!("{},countersign={},rmcp=error", LevelFilter::from(others), style.level);
    if style.level < Level::DEBUG {
        // Every connection that speaks no HTTP, or hangs up, is an error there, and clients make as many as they like.
        filter += STRANGERS;
    }
    let filter = EnvFilter::new(filter);
    // Where it can't be written, to a full disk or a reader that is gone, a line is lost. The library would complain of that on
    // standard error too, and panic, in the middle of whatever had something to say.
    let log = tracing_subscriber::fmt()
        .with_writer(stderr)
        .log_internal_errors(false)
        .with_env_filter(filter);
    if style.json {
        log.json().init();
    } else {
        log.with_ansi(stderr().is_terminal()).init();
    }
}
