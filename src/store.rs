//! The gate's own tables, one file each. A function takes the connection, returns a `QueryResult` and holds no rule.

pub mod actions;
pub mod agents;
pub mod buckets;
pub mod credentials;
pub mod events;
pub mod floods;
pub mod notices;
pub mod outbox;
pub mod pauses;
pub mod people;
pub mod preferences;
pub mod schema;
pub mod secret_mark;
pub mod sessions;
pub mod slots;
pub mod subjects;

use uuid::{Uuid, fmt::Hyphenated};

/// A new id: UUIDv7, so that ids sort by their time of birth.
pub fn new_id() -> String {
    Uuid::now_v7().to_string()
}

/// An id in its usual form, as it is stored; `None` for any other text.
pub fn read_id(text: &str) -> Option<String> {
    let id = Uuid::try_parse(text).ok().filter(|_| text.len() == Hyphenated::LENGTH)?;
    Some(id.hyphenated().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_form() {
        let usual = "01995a3e-8f0c-7c21-b6d4-2f9e0a1b3c4d";
        assert_eq!(read_id(usual).as_deref(), Some(usual));
        assert_eq!(read_id(&usual.to_uppercase()).as_deref(), Some(usual));
        for other in ["", "1", "{01995a3e-8f0c-7c21-b6d4-2f9e0a1b3c4d}", "01995a3e8f0c7c21b6d42f9e0a1b3c4d"] {
            assert_eq!(read_id(other), None, "{other}");
        }
    }
}
