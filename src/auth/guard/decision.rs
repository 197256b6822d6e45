//! Decisions that never reach the gate: turned away at the door, or sent in a form nobody could read. They leave their
//! event too, before they are answered.

use actix_web::{HttpMessage, HttpRequest, http::StatusCode, web};

use super::source;
use crate::{
    audit::{Door, Entry, What},
    auth::{Auth, Visitor},
    error::{Code, Error},
    http,
    store::{actions, read_id},
    workflow::Means,
};

/// Whether this answer to a decision says that it could not be read. The gate answers a decision it has judged, and written
/// down, with none of these.
pub(super) fn is_unread(status: StatusCode) -> bool {
    [http::status(Code::InvalidParams), http::WRONG_TYPE, http::TOO_LARGE].contains(&status.as_u16())
}

/// Records that the person whom the guard recognised tried what did not come to the gate. Without a person there is nobody
/// who decides.
pub(super) async fn record(request: &HttpRequest, what: What, code: Code) -> Result<(), Error> {
    let Some(visitor) = request.extensions().get::<Visitor>().cloned() else {
        return Ok(());
    };
    let door = if matches!(visitor.means, Means::Token(_)) {
        Door::Rest
    } else {
        Door::Browser
    };
    let actor = visitor.decider(source(request, door)).actor();
    let entry = Entry::denied(what, actor, &source(request, door), code);
    let auth = request.app_data::<web::Data<Auth>>().expect("the app has its Auth").clone();
    // Each action is counted by itself, so only those that there are: ids can be made up.
    let known = match request.match_info().get("id").and_then(read_id) {
        Some(id) => auth.db.read(move |conn| actions::find(conn, &id)).await?,
        None => None,
    };
    let entry = known.into_iter().fold(entry, |entry, action| entry.action(action.id));
    auth.denied(entry).await
}
