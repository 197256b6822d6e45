//! The filters above a list.

/// A filter that is on or off.
pub struct Chip {
    pub href: String,
    pub label: String,
    pub on: bool,
}

/// One choice of several.
pub struct Pick {
    pub value: String,
    pub label: String,
    pub on: bool,
}

impl Pick {
    /// A choice, and whether it is the one that was made.
    pub fn new(value: &str, label: &str, chosen: &str) -> Self {
        Self {
            value: value.to_owned(),
            label: label.to_owned(),
            on: value == chosen,
        }
    }
}
