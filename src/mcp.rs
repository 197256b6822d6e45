//! MCP: how agents reach the gateway.
//!
//! Two transports, one handler. Every message passes the strict reader first, as raw bytes; then the library `rmcp`
//! speaks the protocol (of 2025 with `initialize`, of 2026 without), and [`server`] turns its calls into calls of
//! [`crate::gateway::Gateway`].
//!
//! - [`http`]: Streamable HTTP, mounted at `/mcp`;
//! - [`stdio`]: standard input and output, straight on a database, for trying out;
//! - [`bridge`]: standard input and output towards a client, HTTP towards a server: how stdio clients should connect;
//! - [`connect`]: the set-up each client expects to be given.

pub mod bridge;
pub mod connect;
pub mod http;
mod lines;
mod progress;
mod server;
pub mod stdio;
mod strict;
#[cfg(test)]
mod testing;

/// The largest message that is read, in bytes: room for any honest one many times over.
const LARGEST_MESSAGE: usize = 256 * 1024;
