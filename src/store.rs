//! The gate's own tables, one file each. A function takes the connection, returns a `QueryResult` and holds no rule.

pub mod actions;
pub mod agents;
pub mod credentials;
pub mod events;
pub mod floods;
pub mod pauses;
pub mod people;
pub mod schema;
pub mod sessions;
pub mod slots;
pub mod subjects;

/// A new id: UUIDv7, so that ids sort by their time of birth.
pub fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
