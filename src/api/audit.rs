//! `GET /api/v1/audit`.

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{Problem, actions::ok, names::CategoryName, query};
use crate::{
    audit::log::{self, Logged, Moment, Wanted},
    workflow::Gate,
};

/// What the log can be asked.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameters; they are read by name")]
pub struct LogQuery {
    /// From this day (midnight in UTC) or time (RFC 3339) on.
    since: Option<String>,
    /// Up to this day or time, and without it.
    until: Option<String>,
    /// Only events of this group.
    #[param(inline)]
    category: Option<CategoryName>,
    /// Only what this person (e-mail address or id) or agent (name or id) did.
    actor: Option<String>,
    /// Only what concerns the action with this id.
    action: Option<String>,
    /// Only what was refused, or only what was not.
    denied: Option<bool>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
    /// How many at most.
    #[param(minimum = 1, maximum = 50, default = 20)]
    limit: Option<i64>,
}

/// A page of the log.
#[derive(Debug, Serialize, ToSchema)]
pub struct LogPage {
    events: Vec<LogEvent>,
    /// Asks for the next page; left out on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// One event.
#[derive(Debug, Serialize, ToSchema)]
pub struct LogEvent {
    /// Its place in the log. There may be gaps.
    seq: i64,
    /// The e-mail address or the agent's name, as it is today.
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<String>,
    /// The same of the account that was changed, or of the agent that was paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    /// The event as it was stored, for ever.
    #[schema(value_type = Object)]
    body: Value,
}

/// A page of the audit log, newest first
///
/// For auditors and owners. A period of which nothing else is asked comes in the order of time, anything else in that of the log,
/// `seq`. The whole log, in order, is what `countersign audit export` is for.
#[utoipa::path(
    get,
    path = "/api/v1/audit",
    operation_id = "list_events",
    tag = "audit",
    params(LogQuery),
    responses((status = 200, description = "A page of the log", body = LogPage), Problem),
    security(("api_token" = []))
)]
pub async fn list(request: HttpRequest, gate: web::Data<Gate>) -> Result<HttpResponse, Problem> {
    let mut query = query::of::<LogQuery>(&request)?;
    let wanted = Wanted {
        since: query.parsed::<Moment>("since")?,
        until: query.parsed::<Moment>("until")?,
        category: query.parsed("category")?,
        actor: query.text("actor"),
        action_id: query.id("action")?,
        denied: query.flag("denied")?,
        cursor: query.cursor(|text| text.parse().ok().filter(|seq| *seq > 0))?,
        limit: query.limit()?,
    };
    let page = log::page(&gate.db, wanted).await?;
    Ok(ok(&LogPage {
        events: page.events.into_iter().map(LogEvent::from).collect(),
        next_cursor: page.next_cursor.map(|seq| seq.to_string()),
    }))
}

impl From<Logged> for LogEvent {
    fn from(logged: Logged) -> Self {
        Self {
            seq: logged.event.seq,
            who: logged.who,
            about: logged.about,
            body: logged.body,
        }
    }
}
