//! The table of routes: mounting and the permission test both read it. A path that is not here answers 404.

use std::collections::BTreeMap;

use actix_web::{
    http::Method,
    web::{self, ServiceConfig},
};

use super::health;
use crate::{
    auth::guard::{Access, Route},
    mcp,
};

/// Every route there is.
pub fn routes() -> Vec<Route> {
    vec![
        // Agents
        Route::of_service(Method::POST, mcp::http::PATH, Access::AgentKey),
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
        if !routes.is_empty() {
            config.service(routes.into_iter().fold(web::resource(path), actix_web::Resource::route));
        }
    }
}
