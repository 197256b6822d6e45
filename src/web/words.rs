//! The words of the pages for what programs call otherwise.

use crate::store::{actions::Status, people::Role};

/// A status as a reader would say it.
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Pending => "Waiting",
        Status::Executing => "Under way",
        Status::Executed => "Executed",
        Status::Failed => "Failed",
        Status::Rejected => "Rejected",
        Status::Withdrawn => "Withdrawn",
        Status::Expired => "Expired",
        Status::Indeterminate => "Not known",
    }
}

/// The same for the name of a status; a name that is none stays what it is.
pub fn status_name(name: &str) -> String {
    name.parse().map_or_else(|_| name.to_owned(), |found| status(found).to_owned())
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
