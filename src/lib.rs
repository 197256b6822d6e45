//! The approval gate for AI agents.

pub mod db;
pub mod error;
pub mod store;
pub mod mcp;
