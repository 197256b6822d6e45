//! `/login` and `/logout`.

use actix_web::{
    HttpRequest, HttpResponse, Responder,
    cookie::{Cookie, SameSite, time::Duration},
    http::{StatusCode, header},
    web::{Data, Form, Query},
};
use askama::Template;
use askama_web::WebTemplate;
use serde::Deserialize;

use super::{
    refused::{self, Refused},
    way::{local, see_other},
};
use crate::{
    audit::Door,
    auth::{
        Auth, Visitor,
        guard::{SESSION_COOKIE, VISIT_COOKIE, source},
    },
    config::Config,
    error::{Code, Denial},
};

/// How long the cookie that ties a form to a browser lasts, in hours: a tab left open over night still signs in.
const VISIT_HOURS: i64 = 24;

#[derive(Deserialize)]
pub struct Way {
    /// Where to go afterwards.
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub struct Entered {
    #[serde(default)]
    email: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    next: String,
}

#[derive(Template, WebTemplate)]
#[template(path = "login.html")]
struct Page {
    form_token: String,
    next: String,
    email: String,
    refusal: Option<Denial>,
}

/// The form. Who is signed in already goes straight on.
pub async fn form(
    request: HttpRequest,
    auth: Data<Auth>,
    config: Data<Config>,
    way: Query<Way>,
) -> HttpResponse {
    let next = local(&way.next);
    if let Some(cookie) = request.cookie(SESSION_COOKIE)
        && auth.session(cookie.value()).await.is_ok()
    {
        return see_other(next);
    }
    let visit = visit(&request).unwrap_or_else(|| auth.new_visit());
    let page = Page {
        form_token: auth.visit_token(&visit),
        next: next.to_owned(),
        email: String::new(),
        refusal: None,
    };
    let mut response = page.respond_to(&request);
    let cookie = keep(VISIT_COOKIE, visit, &config).max_age(Duration::hours(VISIT_HOURS));
    response.add_cookie(&cookie.finish()).expect("the cookie is plain ASCII");
    response
}

/// Signs in.
pub async fn enter(
    request: HttpRequest,
    auth: Data<Auth>,
    config: Data<Config>,
    entered: Form<Entered>,
) -> HttpResponse {
    let Entered {
        email,
        password,
        next,
    } = entered.into_inner();
    let next = local(&next);
    let denial = match auth.sign_in(&email, &password, &source(&request, Door::Browser)).await {
        Ok(signed_in) => {
            let mut response = see_other(next);
            let cookie = keep(SESSION_COOKIE, signed_in.cookie, &config).finish();
            response.add_cookie(&cookie).expect("the cookie is plain ASCII");
            return response;
        }
        Err(error) => error.into_denial(),
    };
    if !matches!(denial.code, Code::Unauthenticated | Code::RateLimited) {
        return actix_web::ResponseError::error_response(&Refused::from(denial));
    }
    let status = refused::status(denial.code);
    let wait = denial.retry_after_seconds;
    let page = Page {
        // The guard has let the form in, so the cookie is there.
        form_token: auth.visit_token(&visit(&request).unwrap_or_default()),
        next: next.to_owned(),
        email,
        refusal: Some(denial),
    };
    let mut response = page.respond_to(&request);
    *response.status_mut() = status;
    if let (StatusCode::TOO_MANY_REQUESTS, Some(seconds)) = (status, wait) {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// Signs out.
pub async fn leave(
    request: HttpRequest,
    auth: Data<Auth>,
    visitor: Visitor,
) -> Result<HttpResponse, Refused> {
    auth.sign_out(&visitor, &source(&request, Door::Browser)).await?;
    let mut response = see_other("/login");
    let mut cookie = Cookie::build(SESSION_COOKIE, "").path("/").finish();
    cookie.make_removal();
    response.add_cookie(&cookie).expect("the cookie is plain ASCII");
    Ok(response)
}

/// A cookie that no script reads and no other site's form sends along.
fn keep<'c>(name: &'c str, value: String, config: &Config) -> actix_web::cookie::CookieBuilder<'c> {
    Cookie::build(name, value)
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(config.is_https())
}

/// The visit cookie, unless its value is none that this program would have given.
fn visit(request: &HttpRequest) -> Option<String> {
    let visit = request.cookie(VISIT_COOKIE)?.value().to_owned();
    (!visit.is_empty() && visit.len() <= 64 && visit.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        .then_some(visit)
}
