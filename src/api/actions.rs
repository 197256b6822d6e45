//! `GET /api/v1/actions` and `GET /api/v1/actions/{id}`.

use std::collections::BTreeMap;

use actix_web::{HttpRequest, HttpResponse, http::header, web};
use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{
    Problem,
    names::StatusName,
    query::{self, path_id},
};
use crate::{
    kinds::Change,
    store::{
        actions::{Action, Status},
        read_id,
    },
    workflow::{ActionView, Detail, Gate, Named, Page, Wanted, view::rfc3339},
};

/// What a list of actions can be asked.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameters; they are read by name")]
pub struct ListQuery {
    /// Only actions in this status.
    #[param(inline)]
    status: Option<StatusName>,
    /// Only actions of this kind.
    kind: Option<String>,
    /// Only actions of the agent with this name.
    agent: Option<String>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
    /// How many at most.
    #[param(minimum = 1, maximum = 50, default = 20)]
    limit: Option<i64>,
}

/// Everything a person needs to decide.
#[derive(Debug, Serialize, ToSchema)]
pub struct ActionDetail {
    #[serde(flatten)]
    action: ActionView,
    /// The name of the agent that asked.
    agent: String,
    /// Why, in the agent's own words. Left out when `dropped`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What would be executed. Left out when `dropped`.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Value>,
    /// Names exactly what is shown here; a decision repeats it.
    digest: String,
    /// The records concerned and their versions: those of now while the action is pending, later those that the request saw.
    /// An approval that repeats them is refused when one has changed.
    subject_versions: BTreeMap<String, i64>,
    /// Other actions on the same records that are open, or were executed just before: the equal ones, and of the others the
    /// latest few of each agent and kind.
    related: Vec<Related>,
    /// How many more there are.
    related_left_out: usize,
    /// What would change, from today's data; of an executed action what did change. Left out when
    /// `dropped`.
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<Vec<Change>>,
}

/// Another action on the same record.
#[derive(Debug, Serialize, ToSchema)]
pub struct Related {
    action_id: String,
    kind: String,
    summary: String,
    #[schema(value_type = String)]
    status: Status,
    agent: String,
    /// RFC 3339, UTC.
    requested_at: String,
    /// Whether it asks for exactly the same write.
    same_write: bool,
}

/// A page of actions, newest first
#[utoipa::path(
    get,
    path = "/api/v1/actions",
    operation_id = "list_actions",
    tag = "actions",
    params(ListQuery),
    responses((status = 200, description = "A page of actions", body = Page), Problem),
    security(("api_token" = []))
)]
pub async fn list(request: HttpRequest, gate: web::Data<Gate>) -> Result<HttpResponse, Problem> {
    let mut query = query::of::<ListQuery>(&request)?;
    let wanted = Wanted {
        status: query.parsed::<Status>("status")?,
        kind: query.text("kind"),
        agent: query.text("agent"),
        cursor: query.cursor(read_id)?,
        limit: query.limit()?,
        ..Wanted::default()
    };
    Ok(ok(&gate.page(wanted).await?))
}

/// One action with everything a person needs to decide
#[utoipa::path(
    get,
    path = "/api/v1/actions/{id}",
    operation_id = "get_action",
    tag = "actions",
    params(("id" = String, Path, description = "The action's id", format = "uuid")),
    responses((status = 200, description = "The action", body = ActionDetail), Problem),
    security(("api_token" = []))
)]
pub async fn show(request: HttpRequest, gate: web::Data<Gate>) -> Result<HttpResponse, Problem> {
    query::none(&request)?;
    let id = path_id(&request)?;
    Ok(ok(&ActionDetail::from(gate.detail(&id).await?)))
}

/// A success.
pub(super) fn ok(body: &impl Serialize) -> HttpResponse {
    HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "no-store")).json(body)
}

impl From<Detail> for ActionDetail {
    fn from(detail: Detail) -> Self {
        let kept = detail.view.dropped.is_none();
        let params = serde_json::from_str(&detail.action.effective_params);
        let preview = detail.preview.map_or(detail.changes, |preview| preview.changes);
        let related = |one: &Named| Related::of(one, &detail.action);
        Self {
            related: detail.related.iter().map(related).collect(),
            related_left_out: detail.related_left_out,
            action: detail.view,
            agent: detail.agent,
            reason: kept.then_some(detail.action.reason),
            // Stored by this program, as JSON.
            params: kept.then(|| params.unwrap_or_default()),
            digest: detail.action.digest,
            subject_versions: detail.versions,
            preview: kept.then_some(preview),
        }
    }
}

impl Related {
    fn of(one: &Named, action: &Action) -> Self {
        Self {
            action_id: one.action.id.clone(),
            kind: one.action.kind.clone(),
            summary: one.action.summary.clone(),
            status: one.status,
            agent: one.agent.clone(),
            requested_at: rfc3339(one.action.requested_at),
            same_write: one.action.is_same_write(action),
        }
    }
}
