//! How the dashboard says no: one page for every code, with what to do now.

use actix_web::{
    HttpRequest, HttpResponse, ResponseError,
    http::{Method, StatusCode, header},
};
use askama::Template;

use super::way;
use crate::{
    error::{Code, Denial, Error},
    http,
};

/// A handler's denial, on its way to a page.
#[derive(Debug)]
pub struct Refused {
    denial: Denial,
    /// The list that was asked, without its filters.
    list: Option<String>,
}

impl Refused {
    /// The refusal of a question that the list at `path` does not understand.
    #[must_use]
    pub fn in_list(self, path: &str) -> Self {
        let list = path.strip_suffix("/export").unwrap_or(path).to_owned();
        Self {
            list: Some(list).filter(|_| self.denial.code == Code::InvalidParams),
            ..self
        }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        error.into_denial().into()
    }
}

impl From<Denial> for Refused {
    fn from(denial: Denial) -> Self {
        Self { denial, list: None }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.denial.code.as_str())
    }
}

impl ResponseError for Refused {
    fn status_code(&self) -> StatusCode {
        status(self.denial.code)
    }

    fn error_response(&self) -> HttpResponse {
        let page = Page {
            list: self.list.as_deref(),
            ..Page::of(&self.denial)
        };
        page.respond(&self.denial)
    }
}

/// How a route of the dashboard refuses at its guard. Who is not signed in is shown the way in, and back.
pub fn refuse(request: &HttpRequest, denial: Denial) -> HttpResponse {
    if denial.code != Code::Unauthenticated {
        return page(&denial);
    }
    let next = came_from(request);
    if *request.method() == Method::POST || request.headers().contains_key("hx-request") {
        let denial = Denial::new(Code::Unauthenticated, "You are no longer signed in. Nothing was done.");
        let page = Page {
            sign_in: Some(way::sign_in(&next)),
            ..Page::of(&denial)
        };
        return page.respond(&denial);
    }
    way::see_other(&way::sign_in(&next))
}

/// The answer to a path that is not in the table of routes.
pub fn not_found() -> HttpResponse {
    page(&Denial::new(Code::NotFound, "There is no page at this address."))
}

/// The answer to a method that a path does not have.
pub fn wrong_method(allowed: &str) -> HttpResponse {
    let mut response = page(&Denial::new(Code::NotFound, "This address is not used in that way."));
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response.headers_mut().insert(header::ALLOW, allowed.parse().expect("methods are ASCII"));
    response
}

/// The answer to a request by a name that is none of this server's.
pub fn misdirected() -> HttpResponse {
    let mut response = page(&Denial::new(Code::InvalidParams, http::MISDIRECTED_SENTENCE));
    *response.status_mut() = StatusCode::MISDIRECTED_REQUEST;
    response
}

/// The answer to a form or an address that can't be read.
pub fn malformed() -> actix_web::Error {
    let sentence = "The address or the form could not be read. Open the page again.";
    Refused::from(Denial::new(Code::InvalidParams, sentence)).into()
}

/// The status code that stands for a denial.
pub fn status(code: Code) -> StatusCode {
    StatusCode::from_u16(http::status(code)).expect("the table holds statuses")
}

/// A page that needs no database, because the database may be what is away.
#[derive(Template)]
#[template(path = "refused.html")]
struct Page<'a> {
    title: &'static str,
    message: &'a str,
    /// The way to sign in, for who is not.
    sign_in: Option<String>,
    /// The way to the list without its filters, when one of them is at fault.
    list: Option<&'a str>,
}

impl<'a> Page<'a> {
    fn of(denial: &'a Denial) -> Self {
        Self {
            title: title(denial.code),
            message: match denial.code {
                Code::Unavailable => {
                    "The database can't be reached just now, so the outcome is unknown. Go back and do the same again in \
                     a moment; nothing is done twice."
                }
                _ => &denial.message,
            },
            sign_in: (denial.code == Code::Unauthenticated).then(|| way::sign_in("/")),
            list: None,
        }
    }

    fn respond(&self, denial: &Denial) -> HttpResponse {
        let mut response = HttpResponse::build(status(denial.code));
        if let Some(seconds) = denial.retry_after_seconds {
            response.insert_header((header::RETRY_AFTER, seconds));
        }
        response
            .content_type("text/html; charset=utf-8")
            .body(self.render().expect("the template renders"))
    }
}

fn page(denial: &Denial) -> HttpResponse {
    Page::of(denial).respond(denial)
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

/// The page a visitor came from: for a form's target, the page that holds the form; for sign-out, the queue.
fn came_from(request: &HttpRequest) -> String {
    let address = request.uri().path_and_query().map_or("/", |address| address.as_str());
    if *request.method() != Method::POST {
        return address.to_owned();
    }
    let page = match request.path() {
        "/pause" | "/resume" => "/agents",
        "/account/mail" => "/account",
        path if path.starts_with("/deliveries/") => "/deliveries",
        path => path.strip_suffix("/approve").or_else(|| path.strip_suffix("/reject")).unwrap_or("/"),
    };
    page.to_owned()
}
