//! The command line, through the built program.

mod accounts;
mod check;
mod databases;
mod log;
mod mistyped;
mod secrets;
mod serving;
mod settings;
mod shop;
mod values;
