//! REST for programs: the dashboard's queue and decisions, for people's API tokens.
//!
//! A handler extracts, calls the gate and renders; whatever is wrong is a [`Problem`]. Its rows are in the table of
//! routes, its description for programs in [`openapi`].

pub mod actions;
pub mod audit;
mod body;
pub mod decisions;
mod names;
pub mod openapi;
mod problem;
mod query;

pub use problem::{Problem, misdirected, refuse, unlisted, wrong_method};

/// Where the interface begins.
pub const ROOT: &str = "/api";

/// Whether a path is this door's, listed or not.
pub fn owns(path: &str) -> bool {
    path.strip_prefix(ROOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
