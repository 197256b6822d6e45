//! What the log says of an action, and finding the action again that an event tells of.

use crate::{
    audit::Entry,
    db::{Conn, QueryResult},
    store::{
        actions::{self, Action},
        events,
    },
};
/// Names the action in an event: by ids, a digest and the amount, never by its params or reason.
pub(super) fn about(entry: Entry, action: &Action) -> Entry {
    entry
        .action(&action.id)
        .with("kind", action.kind.as_str())
        .with("digest", action.digest.as_str())
        .with("figure", action.figure.as_str())
}

/// The action that a committed event tells of, and the outcome it was given; nothing for a denial. What a call whose COMMIT
/// was not answered is told once its event is found.
pub(super) fn told_of(conn: &mut Conn, event_id: &str) -> QueryResult<Option<(Action, String)>> {
    let event = events::find(conn, event_id)?.filter(|event| !event.denied);
    let Some((Some(id), outcome)) = event.map(|event| (event.action_id, event.outcome)) else {
        return Ok(None);
    };
    Ok(actions::find(conn, &id)?.map(|action| (action, outcome)))
}
