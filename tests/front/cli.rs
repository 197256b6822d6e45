//! The command line, through the built program.

mod accounts;
mod check;
mod serving;
mod settings;
mod shop;
