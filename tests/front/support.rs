//! What the tests stand on.

pub mod backend;
pub mod browser;
pub mod postgres;
pub mod races;
pub mod run;
pub mod settings;
pub mod tether;

pub use backend::{Backend, Database};
pub use browser::Browser;
pub(crate) use run::backends;
pub use run::runtime;
