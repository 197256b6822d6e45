//! The shop's tables.

pub mod effects;
pub mod orders;
pub mod products;
mod schema;

/// Escapes what [`containing`] takes literally.
const ESCAPE: char = '\\';

/// The pattern of `LIKE` for what has this text in it.
fn containing(text: &str) -> String {
    let literal = text.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
    format!("%{literal}%")
}

/// Text as searches compare it: in lower case, without white space around it.
pub fn fold(text: &str) -> String {
    text.trim().to_lowercase()
}
