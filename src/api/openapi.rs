//! `GET /api/openapi.json`: the interface described for programs, made from the handlers and types themselves.

use std::collections::BTreeMap;

use actix_web::{HttpRequest, HttpResponse};
use utoipa::{
    IntoResponses, Modify, OpenApi, PartialSchema, ToSchema,
    openapi::{
        self, ContentBuilder, ObjectBuilder, Ref, RefOr, ResponseBuilder,
        schema::{Schema, Type},
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use super::{
    Problem, actions, audit, decisions,
    problem::{First, MEDIA_TYPE},
    query,
};
use crate::{audit::CATEGORIES, error::Code, http, store::actions::Status, workflow};

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

/// Stands for every [`Code`] in the document.
pub struct CodeName;

/// Stands for every [`Status`] in the document.
pub struct StatusName;

/// Stands for every group of events in the document.
pub struct CategoryName;

impl PartialSchema for CodeName {
    fn schema() -> RefOr<Schema> {
        one_of(Code::ALL.into_iter().map(Code::as_str))
    }
}

impl ToSchema for CodeName {}

impl PartialSchema for StatusName {
    fn schema() -> RefOr<Schema> {
        one_of(Status::ALL.iter().map(|status| status.as_str()))
    }
}

impl ToSchema for StatusName {}

impl PartialSchema for CategoryName {
    fn schema() -> RefOr<Schema> {
        one_of(CATEGORIES.into_iter())
    }
}

impl ToSchema for CategoryName {}

impl IntoResponses for Problem {
    /// Every status that a code can have, and those that the door adds.
    fn responses() -> BTreeMap<String, RefOr<openapi::Response>> {
        let mut codes: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
        for code in Code::ALL {
            codes.entry(http::status(code)).or_default().push(code.as_str());
        }
        codes.insert(http::TOO_LARGE, vec![Code::InvalidParams.as_str()]);
        codes.insert(http::WRONG_TYPE, vec![Code::InvalidParams.as_str()]);
        let problem = |codes: Vec<&str>| {
            let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
            ResponseBuilder::new().description(codes.join(", ")).content(MEDIA_TYPE, content).build()
        };
        codes
            .into_iter()
            .map(|(status, codes)| (status.to_string(), RefOr::T(problem(codes))))
            .collect()
    }
}

fn one_of(names: impl Iterator<Item = &'static str>) -> RefOr<Schema> {
    let names = names.map(serde_json::Value::from).collect::<Vec<_>>();
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).into()
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
