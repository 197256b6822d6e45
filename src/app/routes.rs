//! The table of routes: mounting and the permission test both read it. A path that is not here answers 404.

use std::collections::BTreeMap;

use actix_web::{
    HttpRequest, HttpResponse, ResponseError,
    http::{Method, header},
    web::{self, ServiceConfig},
};

use super::health;
use crate::{
    api,
    auth::guard::{Access, Permission, Route},
    mcp,
};

/// Every route there is.
pub fn routes() -> Vec<Route> {
    vec![
        // Agents
        Route::of_service(Method::POST, mcp::http::PATH, Access::AgentKey),
        // Programs of people
        Route::new(Method::GET, "/api/openapi.json", Access::Anybody, api::refuse, api::openapi::document),
        Route::new(
            Method::GET,
            "/api/v1/actions",
            Access::Token(Permission::See),
            api::refuse,
            api::actions::list,
        ),
        Route::new(
            Method::GET,
            "/api/v1/actions/{id}",
            Access::Token(Permission::See),
            api::refuse,
            api::actions::show,
        ),
        Route::new(
            Method::POST,
            "/api/v1/actions/{id}/approve",
            Access::Token(Permission::Decide),
            api::refuse,
            api::decisions::approve,
        ),
        Route::new(
            Method::POST,
            "/api/v1/actions/{id}/reject",
            Access::Token(Permission::Decide),
            api::refuse,
            api::decisions::reject,
        ),
        Route::new(
            Method::GET,
            "/api/v1/audit",
            Access::Token(Permission::Audit),
            api::refuse,
            api::audit::list,
        ),
        // Operators
        Route::new(Method::GET, "/healthz", Access::Anybody, health::refuse, health::alive),
        Route::new(Method::GET, "/readyz", Access::Anybody, health::refuse, health::ready),
        Route::new(Method::GET, "/metrics", Access::Monitoring, health::refuse, health::metrics),
    ]
}

/// Mounts the table.
pub(super) fn mount(config: &mut ServiceConfig) {
    let mut by_path: BTreeMap<&'static str, Vec<Route>> = BTreeMap::new();
    for route in routes() {
        by_path.entry(route.path).or_default().push(route);
    }
    for (path, rows) in by_path {
        let routes: Vec<_> = rows.iter().filter_map(Route::mount).collect();
        if routes.is_empty() {
            continue;
        }
        let allowed = rows.iter().map(|row| row.method.as_str()).collect::<Vec<_>>().join(", ");
        let resource = routes.into_iter().fold(web::resource(path), |resource, route| resource.route(route));
        config.service(
            resource.default_service(web::to(move |request| wrong_method(request, allowed.clone()))),
        );
    }
    config.default_service(web::to(unlisted));
}

async fn wrong_method(request: HttpRequest, allowed: String) -> HttpResponse {
    if api::owns(request.path()) {
        return api::wrong_method(&allowed).error_response();
    }
    HttpResponse::MethodNotAllowed().insert_header((header::ALLOW, allowed)).finish()
}

async fn unlisted(request: HttpRequest) -> HttpResponse {
    if api::owns(request.path()) {
        return api::unlisted().error_response();
    }
    HttpResponse::NotFound().finish()
}
