//! Errors in plain words: whatever leaves `/mcp` with an error status is a JSON-RPC error with a sentence of ours.
//!
//! The library answers some of its checks as text that quotes its parser, its types or its limits.

use actix_web::{
    Error, HttpResponse,
    body::{self, BoxBody, MessageBody},
    dev::ServiceResponse,
    error::ErrorInternalServerError,
    http::{StatusCode, header},
};
use serde_json::Value;

use crate::{
    error::{DEFECT, Denial},
    http::MISDIRECTED_SENTENCE,
    mcp::{
        server::NO_SUCH_METHOD,
        strict::{INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, Refusal},
    },
};

/// A refusal as a response.
pub fn refusal(status: StatusCode, refusal: &Refusal) -> HttpResponse {
    HttpResponse::build(status).json(refusal.to_json())
}

/// The answer to a message that could not be recorded.
pub fn unavailable(id: Option<Value>, denial: Denial) -> HttpResponse {
    refusal(StatusCode::SERVICE_UNAVAILABLE, &Refusal::new(id, INTERNAL_ERROR, denial.message))
}

/// The answer to a request by a name that is none of this server's.
pub fn misdirected() -> HttpResponse {
    refusal(StatusCode::FORBIDDEN, &Refusal::new(None, INVALID_REQUEST, MISDIRECTED_SENTENCE))
}

/// The response as it is, unless it is an error in the library's own words.
pub fn errors(
    response: ServiceResponse<impl MessageBody + 'static>,
    id: Option<Value>,
) -> ServiceResponse<BoxBody> {
    let status = response.status();
    let is_json = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind == "application/json");
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return response.map_into_boxed_body();
    }
    let allow = response.headers().get(header::ALLOW).cloned();
    let code = if status.is_server_error() { INTERNAL_ERROR } else { INVALID_REQUEST };
    let mut plain = refusal(status, &Refusal::new(id, code, sentence(status)));
    if let Some(allow) = allow {
        plain.headers_mut().insert(header::ALLOW, allow);
    }
    response.into_response(plain)
}

/// The response as it is, unless it says that there is no such method: of that the library tells no more than its name.
pub async fn unknown_method(response: ServiceResponse<BoxBody>) -> Result<ServiceResponse<BoxBody>, Error> {
    let (request, response) = response.into_parts();
    let (response, body) = response.into_parts();
    let mut body = body::to_bytes(body).await.map_err(ErrorInternalServerError)?;
    if let Ok(mut answer) = serde_json::from_slice::<Value>(&body)
        && answer["error"]["code"] == METHOD_NOT_FOUND
    {
        answer["error"]["message"] = NO_SUCH_METHOD.into();
        body = answer.to_string().into();
    }
    Ok(ServiceResponse::new(request, response.set_body(BoxBody::new(body))))
}

fn sentence(status: StatusCode) -> &'static str {
    match status {
        StatusCode::FORBIDDEN => "Web pages of other sites may not call this server.",
        StatusCode::NOT_FOUND => "There is nothing here. The agents' door is /mcp.",
        StatusCode::METHOD_NOT_ALLOWED => {
            "There are no sessions and no event streams here. Send messages with POST."
        }
        StatusCode::NOT_ACCEPTABLE => "The client must accept both application/json and text/event-stream.",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "Send the message as Content-Type: application/json.",
        StatusCode::PAYLOAD_TOO_LARGE => "The message is too large.",
        status if status.is_server_error() => DEFECT,
        _ => "The Host or the MCP-Protocol-Version header is missing or not supported.",
    }
}
