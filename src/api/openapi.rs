//! `GET /api/openapi.json`: the interface described for programs, made from the handlers and types themselves.

use actix_web::{HttpRequest, HttpResponse};
use utoipa::{
    Modify, OpenApi,
    openapi::{
        self,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use super::{
    Problem, actions, audit, decisions,
    names::{CodeName, StatusName},
    problem::First,
    query,
};
use crate::workflow;

/// The document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Countersign",
        description = "The approval gate for AI agents, for programs that act for a person. Everything that goes wrong is a \
                       problem document (RFC 9457)."
    ),
    paths(actions::list, actions::show, decisions::approve, decisions::reject, audit::list, document),
    components(schemas(Problem, First, CodeName, StatusName, workflow::Page)),
    modifiers(&Security)
)]
pub struct Document;

/// This description
#[utoipa::path(
    get,
    path = "/api/openapi.json",
    operation_id = "describe",
    tag = "description",
    responses((status = 200, description = "An OpenAPI document", body = Object))
)]
pub async fn document(request: HttpRequest) -> Result<HttpResponse, Problem> {
    query::none(&request)?;
    Ok(HttpResponse::Ok().json(Document::openapi()))
}

struct Security;

impl Modify for Security {
    fn modify(&self, document: &mut openapi::OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer);
        let scheme = scheme.description(Some("A person's API token, cs_p_…")).build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("api_token", SecurityScheme::Http(scheme));
    }
}
