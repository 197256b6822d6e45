//! What the tests stand on.

pub mod agent;
pub mod app;
pub mod backend;
pub mod books;
pub mod browser;
pub mod cable;
pub mod client;
pub mod contract;
pub mod elsewhere;
pub mod failpoints;
pub mod held;
pub mod http;
pub mod person;
pub mod post;
pub mod postgres;
pub mod program;
pub mod races;
pub mod random;
pub mod rival;
pub mod rows;
pub mod run;
pub mod session;
pub mod settings;
pub mod shop;
pub mod site;
pub mod tether;

pub use agent::Agent;
pub use app::TestApp;
pub use backend::{Backend, Database};
pub use browser::Browser;
pub use client::{Client, Era};
pub use person::Person;
pub use post::{Fault, Mail, Post};
pub use run::runtime;
pub(crate) use run::{backends, in_browser, races};
pub use session::Session;
