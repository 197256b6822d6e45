//! What a request passes before the library sees it.

use std::sync::Arc;

use actix_web::{
    Error, HttpMessage, HttpResponse,
    body::{BoxBody, MessageBody},
    dev::{Payload, ServiceRequest, ServiceResponse},
    http::{Method, StatusCode, header},
    middleware::Next,
    web::BytesMut,
};
use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

use super::{Mount, held::Held, plain};
use crate::{
    audit::{Door, Source},
    auth::guard::{BODY_TIME, bearer},
    error::{Code, Denial, Error as Trouble},
    gateway::{Caller, error_body},
    mcp::LARGEST_MESSAGE,
    mcp::server::{self, Inlet},
    mcp::strict::{self, INVALID_REQUEST, Message, Refusal},
};

/// Authenticates, reads strictly, and gives the library what is left.
pub async fn guard(
    mount: Arc<Mount>,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let caller = caller(&mount, &request).await;
    // While the database is away nobody is known; a call is told so in the shape of an answer, where its agent reads it.
    if let Some(denial) = caller.as_ref().err().filter(|denial| denial.code == Code::Unauthenticated) {
        return Ok(request.into_response(turned_away(denial)));
    }
    let mut id = None;
    let mut is_call = false;
    let mut arguments = None;
    if request.method() == Method::POST {
        let message = match message(&mut request).await {
            Ok(message) => message,
            Err((status, refusal)) => {
                let response = match recorded(&mount, caller, refusal.code).await {
                    Ok(()) => plain::refusal(status, &refusal),
                    Err(denial) => plain::unavailable(refusal.id, denial),
                };
                return Ok(request.into_response(response));
            }
        };
        id = message.id();
        is_call = message.method() == Some("tools/call");
        arguments = message.arguments;
        request.set_payload(Payload::from(message.envelope.to_string().into_bytes()));
    }
    // Dropped with this request, or with the body of its answer: then nobody waits any more.
    let gone = CancellationToken::new();
    let caller = caller.map(|caller| Caller {
        gone: gone.clone(),
        ..caller
    });
    let gone = gone.drop_guard();
    request.extensions_mut().insert(Inlet {
        caller: Some(caller),
        arguments,
    });
    let mut response = plain::errors(next.call(request).await?, id);
    if !is_call {
        response = plain::unknown_method(response).await?;
    }
    Ok(response.map_body(|_, body| BoxBody::new(Held::new(body, gone))))
}

async fn caller(mount: &Mount, request: &ServiceRequest) -> Result<Caller, Denial> {
    let Some(key) = bearer(request.request()).filter(|key| !key.is_empty()) else {
        return Err(Denial::new(Code::Unauthenticated, "Send the agent key as `Authorization: Bearer KEY`."));
    };
    let source = Source {
        door: Door::Http,
        address: (mount.address)(request.request()),
    };
    mount.gateway.authenticate(&key, &source).await.map_err(Trouble::into_denial)
}

/// What a known agent sent in vain is in the log before it is told.
async fn recorded(mount: &Mount, caller: Result<Caller, Denial>, jsonrpc_code: i32) -> Result<(), Denial> {
    let caller = caller?;
    mount.gateway.message_refused(&caller, jsonrpc_code).await.map_err(Trouble::into_denial)
}

fn turned_away(denial: &Denial) -> HttpResponse {
    HttpResponse::Unauthorized()
        .insert_header((header::WWW_AUTHENTICATE, "Bearer realm=\"countersign\""))
        .json(error_body(denial))
}

async fn message(request: &mut ServiceRequest) -> Result<Message, (StatusCode, Refusal)> {
    let refuse = |status, why: &str| (status, Refusal::new(None, INVALID_REQUEST, why));
    let mut body = BytesMut::new();
    let mut payload = request.take_payload();
    let deadline = tokio::time::Instant::now() + BODY_TIME;
    while let Some(chunk) = tokio::time::timeout_at(deadline, payload.next())
        .await
        .map_err(|_| refuse(StatusCode::REQUEST_TIMEOUT, "The message did not arrive in time."))?
    {
        let chunk = chunk
            .map_err(|_| refuse(StatusCode::BAD_REQUEST, "The message could not be read to its end."))?;
        if body.len() + chunk.len() > LARGEST_MESSAGE {
            return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, "The message is too large."));
        }
        body.extend_from_slice(&chunk);
    }
    let message = strict::read(&body).map_err(|refusal| (StatusCode::BAD_REQUEST, refusal))?;
    server::typed(&message).map_err(|refusal| (StatusCode::BAD_REQUEST, refusal))?;
    Ok(message)
}
