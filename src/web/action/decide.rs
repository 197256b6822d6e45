//! `POST /actions/{id}/approve` and `/reject`.

use actix_htmx::Htmx;
use actix_web::{
    FromRequest, HttpRequest, HttpResponse, Responder,
    dev::Payload,
    http::StatusCode,
    web::{Form, Path},
};
use serde::Deserialize;

use crate::{
    audit::Door,
    auth::{Visitor, guard::source},
    error::{Code, Error, Result},
    store::{actions::Action, read_id},
    web::{
        choice::Choice,
        queue::Desk,
        refused::{Refused, status},
        site::Site,
        way::see_other,
    },
    workflow::{Approval, Rejection},
};

/// What the form holds: what was shown, and what the person says to it.
#[derive(Deserialize)]
pub struct Decision {
    #[serde(default)]
    digest: String,
    /// JSON: each record's version as it was shown.
    #[serde(default)]
    subject_versions: String,
    #[serde(default, alias = "reason")]
    note: String,
    /// Ids, separated by commas, of equal requests that the page showed and asked about.
    #[serde(default)]
    acknowledge: String,
    /// What of the queue was shown, to come back to.
    #[serde(default)]
    kind: String,
    #[serde(default)]
    after: String,
}

/// Approves exactly what was shown.
pub async fn approve(
    request: HttpRequest,
    site: Site,
    visitor: Visitor,
    id: Path<String>,
    decision: Form<Decision>,
) -> Result<HttpResponse, Refused> {
    // Versions that are absent or unreadable were never shown, and equal none: the approver is asked once more.
    let shown = serde_json::from_str(&decision.subject_versions).unwrap_or_default();
    let approval = Approval {
        digest: decision.digest.clone(),
        subject_versions: Some(shown),
        note: Some(decision.note.clone()),
        acknowledge: decision.acknowledge.split(',').map(ToOwned::to_owned).collect(),
    };
    let decider = visitor.decider(source(&request, Door::Browser));
    let decided = site.gate.approve(&decider, &id, approval).await;
    answer(&request, &site, &visitor, &id, decision.into_inner(), decided).await
}

/// Rejects what was shown, with a reason for the agent.
pub async fn reject(
    request: HttpRequest,
    site: Site,
    visitor: Visitor,
    id: Path<String>,
    decision: Form<Decision>,
) -> Result<HttpResponse, Refused> {
    let rejection = Rejection {
        digest: decision.digest.clone(),
        reason: decision.note.clone(),
    };
    let decider = visitor.decider(source(&request, Door::Browser));
    let decided = site.gate.reject(&decider, &id, rejection).await;
    answer(&request, &site, &visitor, &id, decision.into_inner(), decided).await
}

/// The action as it stands now. What stood in the way of the decision is said on its page, which asks once more.
async fn answer(
    request: &HttpRequest,
    site: &Site,
    visitor: &Visitor,
    id: &str,
    decision: Decision,
    decided: Result<Action>,
) -> Result<HttpResponse, Refused> {
    let mut choice = Choice {
        kind: site.gate.registry.find_kind(&decision.kind).map(|kind| kind.spec().name.to_owned()),
        after: read_id(&decision.after),
    };
    // Whatever page of the queue the form names, what was decided is told.
    if choice.after.is_some() && matches!(choice.queue(&site.gate).await, Err(Error::Denied(_))) {
        choice.after = None;
    }
    let page = choice.keep(&format!("/actions/{id}"));
    let denial = match decided {
        Ok(_) => {
            if !Htmx::from_request(request, &mut Payload::None).await.is_ok_and(|htmx| htmx.is_htmx) {
                return Ok(see_other(&page));
            }
            return Ok(match Desk::at(site, visitor, &choice, id).await {
                Ok(desk) => desk.respond_to(request),
                Err(error) => shown_later(error, &page),
            });
        }
        Err(error) => error.into_denial(),
    };
    let on_its_page = matches!(
        denial.code,
        Code::InvalidParams
            | Code::Paused
            | Code::DigestMismatch
            | Code::SubjectChanged
            | Code::RelatedActions
            | Code::AlreadyDecided
    );
    if !on_its_page {
        return Err(denial.into());
    }
    let code: StatusCode = status(denial.code);
    let desk = match Desk::at(site, visitor, &choice, id).await {
        Ok(desk) => desk.refused(denial, decision.note, decision.acknowledge),
        // There is no page to say it on, and the guard has to hear of it.
        Err(_) if denial.code == Code::InvalidParams => return Err(denial.into()),
        Err(error) => return Err(error.into()),
    };
    let mut response = desk.respond_to(request);
    *response.status_mut() = code;
    Ok(response)
}

/// What was decided is, even if it can't be shown now: the browser asks for its page, and is told there what keeps it.
fn shown_later(error: Error, page: &str) -> HttpResponse {
    tracing::error!(%error, "an action can't be shown after its decision");
    HttpResponse::Ok().insert_header(("HX-Redirect", page)).finish()
}
