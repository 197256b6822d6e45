//! MCP: how agents reach the gateway.
//!
//! - [`connect`]: the set-up each client expects to be given.

pub mod connect;
