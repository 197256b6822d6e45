//! Forms: whether one came from our own page.

use std::time::Duration;

use actix_web::{
    FromRequest, HttpMessage,
    dev::{Payload, ServiceRequest},
    web,
};

use crate::{
    auth::{Auth, secret::equal, token},
    error::{Code, Denial, Error},
};

/// The cookie that ties a form to a browser that is not signed in yet.
pub const VISIT_COOKIE: &str = "cs_visit";
/// The form field that proves a form came from one of our pages.
pub const FORM_TOKEN: &str = "form_token";

/// How long a client may take to send what it has begun.
pub const BODY_TIME: Duration = Duration::from_secs(20);

/// The largest form, in bytes: a note of the longest characters beside the longest list of equal requests has room.
pub const FORM_BYTES: usize = 64 * 1024;

/// Refuses a form that did not come from one of our own pages, and hands its body on.
pub(super) async fn check_form(request: &mut ServiceRequest, expected: Option<&str>) -> Result<(), Error> {
    // What is looked at here is then read in the same way by the handler.
    if !request.request().encoding().is_ok_and(|encoding| encoding.name() == "UTF-8") {
        return Err(Denial::new(Code::InvalidParams, "The form must be sent as UTF-8.").into());
    }
    let mut taken = request.take_payload();
    let body = tokio::time::timeout(BODY_TIME, web::Bytes::from_request(request.request(), &mut taken)).await;
    let body = body.ok().and_then(Result::ok).filter(|body| body.len() <= FORM_BYTES);
    let Some(body) = body else {
        return Err(
            Denial::new(Code::InvalidParams, "The form is too large, or did not arrive whole.").into()
        );
    };
    // No field may hold one, and not every database can be asked about it.
    if url::form_urlencoded::parse(&body).any(|(_, value)| value.contains('\0')) {
        return Err(
            Denial::new(Code::InvalidParams, "The form contains a NUL character; leave it out.").into()
        );
    }
    let given = url::form_urlencoded::parse(&body)
        .find(|(name, _)| name == FORM_TOKEN)
        .map(|(_, value)| value);
    let genuine = given.zip(expected).is_some_and(|(given, expected)| equal(&given, expected));
    request.set_payload(Payload::from(body));
    if genuine {
        return Ok(());
    }
    Err(Denial::new(Code::Forbidden, "This form is out of date. Open the page again and repeat it.").into())
}

impl Auth {
    /// The form token of a browser that is not signed in, from its visit cookie.
    pub fn visit_token(&self, visit: &str) -> String {
        self.secret.mac("visit", visit)
    }

    /// A new value for the visit cookie.
    pub fn new_visit(&self) -> String {
        token::digits(32)
    }
}
