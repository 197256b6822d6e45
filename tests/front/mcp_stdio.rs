//! The agents' door over standard input and output: the built program, straight on a database and as a bridge.

mod clients;
mod lines;
pub mod pipe;
mod waiting;
