//! The words of the pages for what programs call otherwise.

use crate::{store::people::Role, workflow::wording};

/// A status by its name as a reader would say it; a name that is none stays what it is.
pub fn status_name(name: &str) -> String {
    name.parse().map_or_else(|_| name.to_owned(), |found| wording::status(found).to_owned())
}

/// A role as a reader would say it.
pub fn role(role: Role) -> &'static str {
    match role {
        Role::Owner => "Owner",
        Role::Approver => "Approver",
        Role::Auditor => "Auditor",
        Role::Viewer => "Viewer",
    }
}

/// What a role may do, in a sentence.
pub fn role_in_full(role: Role) -> &'static str {
    match role {
        Role::Owner => "Sees everything, decides, pauses, and looks after accounts.",
        Role::Approver => "Sees the queue, the history and the shop, and decides.",
        Role::Auditor => "Sees the queue, the history and the shop, and reads and exports the audit log.",
        Role::Viewer => "Sees the queue, the history and the shop.",
    }
}
