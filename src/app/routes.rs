//! The table of routes: mounting and the permission test both read it. A path that is not here answers 404.

use std::{collections::BTreeMap, future::ready};

use actix_web::{
    HttpRequest, HttpResponse, Resource, ResponseError,
    http::Method,
    web::{self, ServiceConfig},
};

use super::health;
use crate::{
    api::{self, actions, decisions, openapi},
    audit::What,
    auth::guard::{
        Access::{Address, AgentKey, Anybody, Monitoring, SignedIn, Token},
        Permission::{Audit, Decide, Own, See},
        Route,
    },
    mcp,
    notify::LEAVE_PATH,
    shop::pages::{order, orders, products},
    web::{
        self as pages, account, action, action::decide, agents, assets, audit, deliveries, history, login,
        people, queue, refuse, unsubscribe,
    },
};

const GET: Method = Method::GET;
const POST: Method = Method::POST;

/// Every route there is.
pub fn routes() -> Vec<Route> {
    vec![
        // Agents
        Route::of_service(POST, mcp::http::PATH, AgentKey),
        // Programs of people
        Route::new(GET, "/api/openapi.json", Anybody, api::refuse, openapi::document),
        Route::new(GET, "/api/v1/actions", Token(See), api::refuse, actions::list),
        Route::new(GET, "/api/v1/actions/{id}", Token(See), api::refuse, actions::show),
        Route::new(POST, "/api/v1/actions/{id}/approve", Token(Decide), api::refuse, decisions::approve)
            .deciding(What::Approval),
        Route::new(POST, "/api/v1/actions/{id}/reject", Token(Decide), api::refuse, decisions::reject)
            .deciding(What::Rejection),
        Route::new(GET, "/api/v1/audit", Token(Audit), api::refuse, api::audit::list),
        // People
        Route::new(GET, assets::PATH, Anybody, refuse, assets::get),
        Route::new(GET, "/login", Anybody, refuse, login::form),
        Route::new(POST, "/login", Anybody, refuse, login::enter),
        Route::new(POST, "/logout", SignedIn(See), refuse, login::leave),
        Route::new(GET, "/", SignedIn(See), refuse, queue::page),
        Route::new(GET, "/actions", SignedIn(See), refuse, history::page),
        Route::new(GET, "/actions/{id}", SignedIn(See), refuse, action::page),
        Route::new(POST, "/actions/{id}/approve", SignedIn(Decide), refuse, decide::approve)
            .deciding(What::Approval),
        Route::new(POST, "/actions/{id}/reject", SignedIn(Decide), refuse, decide::reject)
            .deciding(What::Rejection),
        Route::new(GET, "/orders", SignedIn(See), refuse, orders::page),
        Route::new(GET, "/orders/{id}", SignedIn(See), refuse, order::page),
        Route::new(GET, "/products", SignedIn(See), refuse, products::page),
        Route::new(GET, "/audit", SignedIn(Audit), refuse, audit::page),
        Route::new(GET, "/audit/export", SignedIn(Audit), refuse, audit::export::file),
        Route::new(GET, "/agents", SignedIn(Own), refuse, agents::page),
        Route::new(POST, "/pause", SignedIn(Own), refuse, agents::pause).deciding(What::Pause),
        Route::new(POST, "/resume", SignedIn(Own), refuse, agents::resume).deciding(What::Resume),
        Route::new(GET, "/people", SignedIn(Own), refuse, people::page),
        Route::new(GET, "/account", SignedIn(See), refuse, account::page),
        Route::new(POST, "/account/mail", SignedIn(See), refuse, account::wish),
        Route::new(GET, "/deliveries", SignedIn(Own), refuse, deliveries::page),
        Route::new(POST, "/deliveries/retry", SignedIn(Own), refuse, deliveries::retry_all)
            .deciding(What::Redelivery),
        Route::new(POST, "/deliveries/{id}/retry", SignedIn(Own), refuse, deliveries::retry)
            .deciding(What::Redelivery),
        Route::new(GET, LEAVE_PATH, Address, refuse, unsubscribe::page),
        Route::new(POST, LEAVE_PATH, Address, refuse, unsubscribe::leave),
        // Operators
        Route::new(GET, "/healthz", Anybody, health::refuse, health::alive),
        Route::new(GET, "/readyz", Anybody, health::refuse, health::ready),
        Route::new(GET, "/metrics", Monitoring, health::refuse, health::metrics),
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
        let allowed =
            rows.iter().map(|row| if row.method == GET { "GET, HEAD" } else { row.method.as_str() });
        let allowed = allowed.collect::<Vec<_>>().join(", ");
        let resource = routes.into_iter().fold(web::resource(path), Resource::route);
        config.service(
            resource.default_service(web::to(move |request| ready(wrong_method(&request, &allowed)))),
        );
    }
    config.default_service(web::to(|request| ready(unlisted(&request))));
}

fn wrong_method(request: &HttpRequest, allowed: &str) -> HttpResponse {
    if api::owns(request.path()) {
        return api::wrong_method(allowed).error_response();
    }
    pages::wrong_method(allowed)
}

fn unlisted(request: &HttpRequest) -> HttpResponse {
    if api::owns(request.path()) {
        return api::unlisted().error_response();
    }
    pages::not_found()
}
