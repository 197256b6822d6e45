//! The shop's tables.

pub mod effects;
pub mod orders;
pub mod products;
mod schema;

/// Text as searches compare it: in lower case, without white space around it.
pub fn fold(text: &str) -> String {
    text.trim().to_lowercase()
}
