//! Countersign: an approval gate for AI agents. Agents read freely; every write they ask for waits for a person.
//!
//! The rooms in reading order. Each uses only those that come after it; `tests/architecture.rs` holds them to it.
//!
//! - [`cli`]: the command line, one file per command
//! - [`app`]: what a process is made of, the one table of routes, and how it serves
//! - [`mcp`]: the doors for agents
//! - [`api`]: REST, the door for people's programs
//! - [`shop`]: orders and stock: what the gate stands in front of, and the gate knows nothing of
//! - [`web`]: the dashboard for people
//! - [`config`], [`metrics`], [`query`]: the settings, what a process measures, and what an address asks for
//! - [`gateway`]: the one door for agents behind all transports: scopes, limits, tools
//! - [`notify`]: who is told of what, when, and by which channel
//! - [`auth`]: who is there
//! - [`workflow`]: request, join, claim, reject, withdraw, expire
//! - [`audit`]: the append-only log
//! - [`kinds`]: what a kind of action and a read tool are
//! - [`store`]: the gate's tables
//! - [`db`]: connections, transactions, migrations, the clock
//! - [`money`]: amounts, in minor units and in words
//! - [`http`], [`text`], [`strict`], [`paging`], [`private_file`], [`tasks`]: what a code means in HTTP, showing strangers'
//!   text, reading JSON strictly, pages of a list, files for their owner alone, what goes on beside the answers
//! - [`error`]: what can go wrong
//! - [`failpoint`]: where tests stop a process; nothing, in a release

pub mod api;
pub mod app;
pub mod audit;
pub mod auth;
pub mod cli;
pub mod config;
pub mod db;
pub mod error;
pub mod failpoint;
pub mod gateway;
pub mod http;
pub mod kinds;
pub mod mcp;
pub mod metrics;
pub mod money;
pub mod notify;
pub mod paging;
pub mod private_file;
pub mod query;
pub mod shop;
pub mod store;
pub mod strict;
pub mod tasks;
pub mod text;
pub mod web;
pub mod workflow;
