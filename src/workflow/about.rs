//! What every event of an action says of it.

use crate::{audit::Entry, store::actions::Action};

/// Names the action in an event: by ids, a digest and the amount, never by its params or reason.
pub(super) fn about(entry: Entry, action: &Action) -> Entry {
    entry
        .action(&action.id)
        .with("kind", action.kind.as_str())
        .with("digest", action.digest.as_str())
        .with("figure", action.figure.as_str())
}
