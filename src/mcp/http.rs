//! MCP over Streamable HTTP: where `/mcp` is mounted, and what stands before the library.
//!
//! In this order: the Host, by the rule of all doors (`app/host.rs`), the agent key, the size of the body, the strict
//! reader, then the library's own checks (Origin, method, protocol version and the headers that must match the body). No
//! sessions: every request stands for itself, so any process behind one address can answer it. An answer is one JSON
//! document, or a stream of events where progress is told of before it.

mod guard;
mod held;
mod plain;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use actix_web::{HttpMessage, HttpRequest, dev::HttpServiceFactory, middleware::from_fn, web};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp_actix_web::transport::StreamableHttpService;
use url::Url;

pub use plain::misdirected;

use super::server::{Inlet, Server};
use crate::gateway::Gateway;

/// Where the agents' door is mounted.
pub const PATH: &str = "/mcp";

/// What the mount needs to know of the server it stands in.
#[derive(Clone)]
pub struct Mount {
    /// The one door for agents.
    pub gateway: Gateway,
    /// Where people and agents reach the server; its origin is accepted.
    pub public_url: Url,
    /// The client's address, as far as the proxies in between are trusted.
    pub address: Address,
}

/// Tells a client's address from its request.
pub type Address = Arc<dyn Fn(&HttpRequest) -> Option<String> + Send + Sync>;

/// The service for [`PATH`].
pub fn service(mount: Mount) -> impl HttpServiceFactory {
    let gateway = mount.gateway.clone();
    let library = StreamableHttpService::builder()
        .service_factory(Arc::new(move || Ok(Server::per_request(gateway.clone()))))
        .session_manager(Arc::new(NeverSessionManager::default()))
        .stateful_mode(false)
        .json_response(true)
        // None of its own: the names were looked at before.
        .allowed_hosts(Vec::new())
        .allowed_origins(vec![origin(&mount)])
        .on_request_fn(|request, extensions| {
            if let Some(inlet) = request.extensions().get::<Inlet>() {
                extensions.insert(inlet.clone());
            }
        })
        .build();
    let mount = Arc::new(mount);
    web::scope(PATH)
        .wrap(from_fn(move |request, next| guard::guard(mount.clone(), request, next)))
        .service(library.scope())
}

/// The one web origin that may call: the dashboard's own. With its port, because the library takes none for any.
fn origin(mount: &Mount) -> String {
    let url = &mount.public_url;
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}://{}:{port}", url.scheme(), url.host_str().unwrap_or_default())
}
