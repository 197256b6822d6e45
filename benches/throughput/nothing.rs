//! A tool that does nothing, behind the same libraries: what HTTP and MCP cost by themselves.

use std::{net::TcpListener, sync::Arc};

use actix_web::{App, HttpServer};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ServerCapabilities, ServerConfig},
    service::RequestContext,
    transport::streamable_http_server::session::never::NeverSessionManager,
};
use rmcp_actix_web::transport::StreamableHttpService;
use serde_json::json;

use crate::support::Outcome;

#[derive(Clone)]
struct Nothing;

impl ServerHandler for Nothing {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::structured(json!({"done": "nothing"})).into())
    }
}

/// Serves it in this process until that ends, and answers where.
pub fn serve() -> Outcome<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let server = HttpServer::new(|| {
        let service = StreamableHttpService::builder()
            .service_factory(Arc::new(|| Ok(Nothing)))
            .session_manager(Arc::new(NeverSessionManager::default()))
            .stateful_mode(false)
            .json_response(true)
            .build();
        App::new().service(actix_web::web::scope("/mcp").service(service.scope()))
    });
    tokio::spawn(server.listen(listener)?.disable_signals().run());
    Ok(address)
}
