//! How the dashboard says no: one page for every code, with what to do now.

use actix_web::{
    HttpRequest, HttpResponse, ResponseError,
    http::{Method, StatusCode, header},
};
use askama::Template;

use super::login;
use crate::{
    error::{Code, Denial, Error},
    http,
};

/// A handler's denial, on its way to a page.
#[derive(Debug)]
pub struct Refused(pub Denial);

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self(error.into_denial())
    }
}

impl From<Denial> for Refused {
    fn from(denial: Denial) -> Self {
        Self(denial)
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.code.as_str())
    }
}

impl ResponseError for Refused {
    fn status_code(&self) -> StatusCode {
        status(self.0.code)
    }

    fn error_response(&self) -> HttpResponse {
        page(&self.0, None)
    }
}

/// How a route of the dashboard refuses at its guard. Who is not signed in is shown the way in, and back.
pub fn refuse(request: &HttpRequest, denial: Denial) -> HttpResponse {
    if denial.code != Code::Unauthenticated {
        return page(&denial, None);
    }
    let next = came_from(request);
    if *request.method() == Method::POST || request.headers().contains_key("hx-request") {
        let denial = Denial::new(Code::Unauthenticated, "You are no longer signed in. Nothing was done.");
        return page(&denial, Some(&next));
    }
    HttpResponse::SeeOther().insert_header((header::LOCATION, login::address(&next))).finish()
}

/// The answer to a path that is not in the table of routes.
pub fn not_found() -> HttpResponse {
    page(&Denial::new(Code::NotFound, "There is no page at this address."), None)
}

/// The answer to a method that a path does not have.
pub fn wrong_method(allowed: &str) -> HttpResponse {
    let mut response = page(&Denial::new(Code::NotFound, "This address is not used in that way."), None);
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response.headers_mut().insert(header::ALLOW, allowed.parse().expect("methods are ASCII"));
    response
}

/// The answer to a form or an address that can't be read.
pub fn malformed() -> actix_web::Error {
    Refused(Denial::new(
        Code::InvalidParams,
        "The address or the form could not be read. Open the page again.",
    ))
    .into()
}

/// The status code that stands for a denial.
pub fn status(code: Code) -> StatusCode {
    StatusCode::from_u16(http::status(code)).expect("the table holds statuses")
}

#[derive(Template)]
#[template(path = "refused.html")]
struct Page<'a> {
    title: &'static str,
    message: &'a str,
    /// The way to sign in, for who is not.
    sign_in: Option<String>,
}

/// A page that needs no database, because the database may be what is away.
fn page(denial: &Denial, next: Option<&str>) -> HttpResponse {
    let page = Page {
        title: title(denial.code),
        message: match denial.code {
            Code::Unavailable => {
                "The database can't be reached just now, so the outcome is unknown. Go back and do the \
                                  same again in a moment; nothing is done twice."
            }
            _ => &denial.message,
        },
        sign_in: (denial.code == Code::Unauthenticated).then(|| login::address(next.unwrap_or("/"))),
    };
    let mut response = HttpResponse::build(status(denial.code));
    if let Some(seconds) = denial.retry_after_seconds {
        response.insert_header((header::RETRY_AFTER, seconds));
    }
    response
        .content_type("text/html; charset=utf-8")
        .body(page.render().expect("the template renders"))
}

fn title(code: Code) -> &'static str {
    match status(code) {
        StatusCode::UNAUTHORIZED => "Please sign in again",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::NOT_FOUND => "Nothing here",
        StatusCode::CONFLICT => "Something else came first",
        StatusCode::TOO_MANY_REQUESTS => "Too many attempts",
        StatusCode::SERVICE_UNAVAILABLE => "The database is away",
        StatusCode::BAD_REQUEST => "That could not be read",
        _ => "Something went wrong",
    }
}

/// The page a visitor came from: for a form's target, the page that holds the form.
fn came_from(request: &HttpRequest) -> String {
    let address = request.uri().path_and_query().map_or("/", |address| address.as_str());
    if *request.method() != Method::POST {
        return address.to_owned();
    }
    let path = request.path();
    match path.strip_suffix("/approve").or_else(|| path.strip_suffix("/reject")) {
        Some(action) => action.to_owned(),
        None => "/".to_owned(),
    }
}
