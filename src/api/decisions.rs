//! `POST /api/v1/actions/{id}/approve` and `…/reject`.

use std::{collections::BTreeMap, sync::LazyLock};

use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    Problem,
    actions::{ActionDetail, ok},
    body,
    query::{self, path_id},
};
use crate::{
    audit::Door,
    auth::{Visitor, guard::source},
    error::{Denial, Error},
    kinds::Shape,
    store::{actions::Action, read_id},
    workflow::{Approval, Gate, MOST_EQUAL, Rejection, note},
};

/// An approval: what was seen, and what to say about it.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
pub struct ApproveBody {
    /// `digest` as it was read.
    #[schemars(length(min = 1, max = 128))]
    #[schema(min_length = 1, max_length = 128)]
    digest: String,
    /// `subject_versions` as they were read. Left out: today's versions are accepted unseen.
    subject_versions: Option<BTreeMap<String, i64>>,
    /// Told to the agent.
    #[schemars(length(max = note::MAX_CHARS))]
    #[schema(max_length = 1000)]
    note: Option<String>,
    /// The ids of related actions that the person knows of, as `related` names them.
    #[schemars(length(max = MOST_EQUAL), inner(length(max = 64)))]
    #[schema(max_items = 200)]
    acknowledge: Option<Vec<String>>,
}

/// A rejection: what was seen, and why not.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
pub struct RejectBody {
    /// `digest` as it was read.
    #[schemars(length(min = 1, max = 128))]
    #[schema(min_length = 1, max_length = 128)]
    digest: String,
    /// Told to the agent.
    #[schemars(length(max = note::MAX_CHARS))]
    #[schema(min_length = 1, max_length = 1000)]
    reason: String,
}

static APPROVE: LazyLock<Shape> = LazyLock::new(Shape::of::<ApproveBody>);
static REJECT: LazyLock<Shape> = LazyLock::new(Shape::of::<RejectBody>);

/// Approve an action
///
/// Exactly one decision wins. The write is done, or a rule refused it (`failed`), when this answers.
#[utoipa::path(
    post,
    path = "/api/v1/actions/{id}/approve",
    operation_id = "approve_action",
    tag = "actions",
    params(("id" = String, Path, description = "The action's id", format = "uuid")),
    request_body = ApproveBody,
    responses((status = 200, description = "The action, executed or failed", body = ActionDetail), Problem),
    security(("api_token" = []))
)]
pub async fn approve(
    request: HttpRequest,
    payload: web::Payload,
    visitor: Visitor,
    gate: web::Data<Gate>,
) -> Result<HttpResponse, Problem> {
    query::none(&request)?;
    let id = path_id(&request)?;
    let body: ApproveBody = body::read(&request, payload, &APPROVE).await?;
    let acknowledge: Option<Vec<String>> =
        body.acknowledge.unwrap_or_default().iter().map(|id| read_id(id)).collect();
    let acknowledge = acknowledge
        .ok_or_else(|| Denial::invalid("acknowledge", "acknowledge must be a list of action ids."))?;
    let approval = Approval {
        digest: body.digest,
        subject_versions: body.subject_versions,
        note: body.note,
        acknowledge,
    };
    let action = gate.approve(&visitor.decider(source(&request, Door::Rest)), &id, approval).await?;
    answer(&gate, action).await
}

/// Reject an action
#[utoipa::path(
    post,
    path = "/api/v1/actions/{id}/reject",
    operation_id = "reject_action",
    tag = "actions",
    params(("id" = String, Path, description = "The action's id", format = "uuid")),
    request_body = RejectBody,
    responses((status = 200, description = "The action, rejected", body = ActionDetail), Problem),
    security(("api_token" = []))
)]
pub async fn reject(
    request: HttpRequest,
    payload: web::Payload,
    visitor: Visitor,
    gate: web::Data<Gate>,
) -> Result<HttpResponse, Problem> {
    query::none(&request)?;
    let id = path_id(&request)?;
    let body: RejectBody = body::read(&request, payload, &REJECT).await?;
    let rejection = Rejection {
        digest: body.digest,
        reason: body.reason,
    };
    let action = gate.reject(&visitor.decider(source(&request, Door::Rest)), &id, rejection).await?;
    answer(&gate, action).await
}

/// The action as it stands after the decision. What was decided is, even if it can't be shown: that is no failure of it.
async fn answer(gate: &Gate, action: Action) -> Result<HttpResponse, Problem> {
    match gate.detail_of(action).await {
        Ok(detail) => Ok(ok(&ActionDetail::from(detail))),
        Err(Error::Internal(cause)) => {
            tracing::error!(%cause, "a defect: an action can't be shown after its decision");
            Err(Error::Unavailable("the action can't be shown".into()).into())
        }
        Err(error) => Err(error.into()),
    }
}
