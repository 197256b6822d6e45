//! The agent gateway as an MCP server: the same handler behind both transports.
//!
//! It knows no rules. It lists what [`Gateway::tools`] shows, hands every call to [`Gateway::call`], and turns the
//! answer into MCP's shape for whichever protocol era the client speaks; the library fills in what differs.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use rmcp::{
    RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientJsonRpcMessage, ContentBlock,
        CustomRequest, CustomResult, ErrorCode, ErrorData, Extensions, Implementation, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
};
use rmcp_actix_web::transport::on_request_extensions;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    progress::Progress,
    strict::{INVALID_REQUEST, Message, Refusal},
};
use crate::{
    audit::Source,
    error::{Code, Denial, Error},
    gateway::{self, Answer, Arguments, Caller, Gateway},
};

const INSTRUCTIONS: &str = "Countersign answers what you read at once and holds every write for a person. \
    A request_ tool only queues a request: nothing has happened when it answers `pending`. Give the person its \
    review_url, then call get_action_status (wait_seconds up to 50) until the status is final. If an answer was lost, \
    send the same call again with the same arguments: it joins the first request and is never done twice. \
    An error says in `message` what to do next.";

/// The methods that are served. Anything else is unknown, whatever its parameters.
const METHODS: [&str; 5] = ["initialize", "ping", "server/discover", "tools/list", "tools/call"];

/// What is said of every other method, and of one that the client's protocol version doesn't have.
pub const NO_SUCH_METHOD: &str = "This server has no such method in this protocol version. It answers initialize, ping, \
    server/discover, tools/list and tools/call.";

const NOT_ITS_PARAMETERS: &str = "The parameters are not those of this method.";

/// What a transport learns about a request before the library sees it. It travels in the message's extensions, which no
/// client can write.
#[derive(Clone)]
pub struct Inlet {
    /// Who calls, or why that can't be told; nothing where one key speaks for the whole connection.
    pub caller: Option<Result<Caller, Denial>>,
    /// A tool call's arguments, as the strict reader left them.
    pub arguments: Option<Arguments>,
}

/// The MCP server of one connection, or of one HTTP request.
#[derive(Clone)]
pub struct Server {
    gateway: Gateway,
    connection: Option<Arc<(String, Source)>>,
}

impl Server {
    /// A server whose requests each bring their own [`Caller`].
    pub fn per_request(gateway: Gateway) -> Self {
        Self {
            gateway,
            connection: None,
        }
    }

    /// A server for one agent's connection. The key is checked again on every request, so that revoking it ends the
    /// connection's rights at once.
    pub fn for_key(gateway: Gateway, key: String, source: Source) -> Self {
        Self {
            gateway,
            connection: Some(Arc::new((key, source))),
        }
    }

    async fn caller(&self, inlet: Option<&Inlet>) -> Result<Caller, Denial> {
        if let Some((key, source)) = self.connection.as_deref() {
            return self.gateway.authenticate(key, source).await.map_err(Error::into_denial);
        }
        match inlet.and_then(|inlet| inlet.caller.clone()) {
            Some(caller) => caller,
            None => Err(Denial::new(Code::Unauthenticated, "This request carries no agent key.")),
        }
    }

    async fn call(
        &self,
        tool: &str,
        inlet: Option<&Inlet>,
        cancelled: CancellationToken,
    ) -> Result<Answer, ErrorData> {
        let mut caller = match self.caller(inlet).await {
            Ok(caller) => caller,
            Err(denial) => return Ok(Answer::refused(&denial)),
        };
        if self.connection.is_some() {
            caller.gone = cancelled;
        }
        let Some(arguments) = inlet.and_then(|inlet| inlet.arguments.clone()) else {
            tracing::error!("a tool call reached the gateway past the strict reader");
            return Ok(Answer::refused(&Denial::defect()));
        };
        // A panic would leave the client without any answer: the library waits for its handler for ever.
        let call = AssertUnwindSafe(self.gateway.call(&caller, tool, arguments)).catch_unwind().await;
        match call {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(gateway::UnknownTool)) => Err(ErrorData::invalid_params(
                "There is no such tool. tools/list names the tools that this key may use.",
                None,
            )),
            Err(_) => Ok(Answer::refused(&Denial::defect())),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(
                Implementation::new("countersign", env!("CARGO_PKG_VERSION")).with_title("Countersign"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if page.is_some_and(|page| page.cursor.is_some()) {
            return Err(ErrorData::invalid_params("The tool list has one page and no cursor.", None));
        }
        let caller = self.caller(inlet(&context.extensions)).await.map_err(|denial| {
            ErrorData::new(
                ErrorCode::INTERNAL_ERROR,
                denial.message.clone(),
                Some(json!({"code": denial.code.as_str()})),
            )
        })?;
        let tools = self.gateway.tools(&caller);
        Ok(ListToolsResult::with_all_items(tools.into_iter().map(listed).collect()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let inlet = inlet(&context.extensions);
        let arguments = inlet.and_then(|inlet| inlet.arguments.as_ref());
        let waits = arguments.is_some_and(|arguments| gateway::waits_for_a_person(&call.name, arguments));
        let answer = self.call(&call.name, inlet, context.ct.clone());
        let answer = if waits { Progress::of(&context).during(answer).await } else { answer.await };
        Ok(result(answer?).into())
    }

    /// The library brings every request here that is none of its own: unknown methods, and known ones whose parameters
    /// it could not read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if METHODS.contains(&request.method.as_str()) {
            return Err(ErrorData::invalid_params(NOT_ITS_PARAMETERS, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, NO_SUCH_METHOD, None))
    }
}

/// Puts an error of the library's into a sentence, where its own is the bare name of a method.
pub fn put_plainly(error: &mut ErrorData) {
    if error.code == ErrorCode::METHOD_NOT_FOUND {
        error.message = NO_SUCH_METHOD.into();
    }
}

/// The message as the library knows it. What it can't read gets a fixed sentence: its own would name its types.
pub fn typed(message: &Message) -> Result<ClientJsonRpcMessage, Refusal> {
    serde_json::from_value(message.envelope.clone()).map_err(|_| {
        let is_call = message.envelope["jsonrpc"] == "2.0" && message.method().is_some();
        let id = message.id();
        if is_call && (id.is_some() || message.is_notification()) {
            return Refusal::new(id, ErrorCode::INVALID_PARAMS.0, NOT_ITS_PARAMETERS);
        }
        Refusal::new(id, INVALID_REQUEST, "This is not a JSON-RPC 2.0 message.")
    })
}

/// Over HTTP the library keeps what the mount noted one level down, over stdio the transport writes it directly.
fn inlet(extensions: &Extensions) -> Option<&Inlet> {
    on_request_extensions(extensions).unwrap_or(extensions).get()
}

fn result(answer: Answer) -> CallToolResult {
    let text = vec![ContentBlock::text(answer.body.to_string())];
    let mut result = if answer.is_error {
        CallToolResult::error(text)
    } else {
        CallToolResult::success(text)
    };
    result.structured_content = Some(answer.body);
    result
}

fn listed(tool: gateway::Tool) -> Tool {
    let hints = ToolAnnotations::new()
        .read_only(tool.read_only)
        .destructive(tool.destructive)
        .idempotent(tool.idempotent)
        .open_world(tool.open_world);
    Tool::new(tool.name, tool.description, tool.input_schema)
        .with_title(tool.title)
        .with_raw_output_schema(Arc::new(tool.output_schema))
        .with_annotations(hints)
}
