//! Countersign: an approval gate for AI agents. Agents read freely; every write they ask for waits for a person.
//!
//! The modules in reading order. Each uses only those that come after it, except that the first few are entries:
//!
//! - [`mcp`]: the doors for agents
//! - [`api`]: REST, the door for people's programs
//! - [`web`]: the dashboard for people
//! - [`gateway`]: the one door for agents behind all transports: scopes, limits, tools
//! - [`auth`]: who is there
//! - [`workflow`]: request, join, claim, reject, withdraw, expire
//! - [`audit`]: the append-only log
//! - [`kinds`]: what a kind of action and a read tool are
//! - [`store`]: the gate's tables
//! - [`db`]: connections, transactions, migrations, the clock
//! - [`config`], [`error`]: settings, and what can go wrong
//! - [`strict`], [`text`], [`http`]: reading JSON strictly, showing strangers' text, what a code means in HTTP

pub mod api;
pub mod app;
pub mod audit;
pub mod auth;
pub mod config;
pub mod db;
pub mod error;
pub mod gateway;
pub mod http;
pub mod kinds;
pub mod mcp;
pub mod metrics;
pub mod shop;
pub mod store;
pub mod strict;
pub mod text;
pub mod web;
pub mod workflow;
