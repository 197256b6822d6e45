//! The guard before every route: what the table of routes says is enforced here, before a handler runs.

mod client;
mod form;

use std::rc::Rc;

use actix_web::{
    FromRequest, HttpMessage, HttpRequest, HttpResponse,
    body::BoxBody,
    dev::{Payload, ServiceRequest, ServiceResponse},
    guard,
    http::Method,
    middleware::{Next, from_fn},
    web,
};

pub use client::{Proxies, bearer, peer, source};
use form::check_form;
pub use form::{BODY_TIME, FORM_TOKEN, VISIT_COOKIE};

use super::{Auth, Visitor};
use crate::{
    audit::{Door, What},
    error::{Code, Denial, Error},
    store::people::Role,
    workflow::Means,
};

/// The cookie that holds a session.
pub const SESSION_COOKIE: &str = "cs_session";

/// What a person may do, in four steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// See the queue, the actions and the shop.
    See,
    /// Approve and reject.
    Decide,
    /// Read the audit log.
    Audit,
    /// Pause, and see the accounts.
    Own,
}

impl Role {
    /// Whether the role has a permission.
    pub fn may(self, permission: Permission) -> bool {
        match permission {
            Permission::See => true,
            Permission::Decide => self.decides(),
            Permission::Audit => self.audits(),
            Permission::Own => self == Self::Owner,
        }
    }
}

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody. A form must come from our own page all the same.
    Anybody,
    /// A person signed in to the dashboard.
    SignedIn(Permission),
    /// A person's API token.
    Token(Permission),
    /// An agent key; the MCP mount looks at it.
    AgentKey,
    /// The monitoring system.
    Monitoring,
}

/// How a door says no.
pub type Refuse = fn(&HttpRequest, Denial) -> HttpResponse;

/// One row of the table of routes.
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    make: Option<Make>,
}

type Make = Box<dyn Fn() -> actix_web::Route + Send + Sync>;

impl Route {
    /// A row: the handler runs only for whom `access` lets in; `refuse` answers the others.
    pub fn new<F, Args>(
        method: Method,
        path: &'static str,
        access: Access,
        refuse: Refuse,
        handler: F,
    ) -> Self
    where
        F: actix_web::Handler<Args> + Send + Sync,
        Args: FromRequest + 'static,
        F::Output: actix_web::Responder + 'static,
    {
        let verb = method.clone();
        let make: Make = Box::new(move || {
            let route = if verb == Method::GET { get() } else { web::method(verb.clone()) };
            let route = route.to(handler.clone());
            route.wrap(from_fn(move |request, next| admit(access, refuse, request, next)))
        });
        Self {
            method,
            path,
            access,
            make: Some(make),
        }
    }

    /// A row of a service that mounts itself and guards itself as `access` says.
    pub fn of_service(method: Method, path: &'static str, access: Access) -> Self {
        Self {
            method,
            path,
            access,
            make: None,
        }
    }

    /// The route behind its guard; none for a service.
    pub fn mount(&self) -> Option<actix_web::Route> {
        self.make.as_ref().map(|make| make())
    }
}

/// A `GET` answers `HEAD` too, with the same headers.
fn get() -> actix_web::Route {
    web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
}

async fn admit(
    access: Access,
    refuse: Refuse,
    mut request: ServiceRequest,
    next: Next<impl actix_web::body::MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    match judge(access, &mut request).await {
        Ok(()) => next.call(request).await.map(ServiceResponse::map_into_boxed_body),
        Err(error) => {
            let denial = error.into_denial();
            let denial = record(&request, &denial).await.err().map_or(denial, Error::into_denial);
            let response = refuse(request.request(), denial);
            Ok(request.into_response(response))
        }
    }
}

/// A person whose role does not reach for what they tried leaves an event, before they are told.
async fn record(request: &ServiceRequest, denial: &Denial) -> Result<(), Error> {
    let Some(visitor) = request.extensions().get::<TurnedAway>().map(|turned| turned.0.clone()) else {
        return Ok(());
    };
    let what = match request.path().rsplit('/').next() {
        Some("approve") => What::Approval,
        Some("reject") => What::Rejection,
        Some("pause") => What::Pause,
        Some("resume") => What::Resume,
        _ => return Ok(()),
    };
    let door = if matches!(visitor.means, Means::Token(_)) {
        Door::Rest
    } else {
        Door::Browser
    };
    let auth = request.app_data::<web::Data<Auth>>().expect("the app has its Auth").clone();
    auth.turned_away(&visitor, what, denial.code, &source(request.request(), door)).await
}

/// A visitor whose role does not allow what they tried.
struct TurnedAway(Visitor);

async fn judge(access: Access, request: &mut ServiceRequest) -> Result<(), Error> {
    if request.uri().to_string().contains("%00") {
        return Err(Denial::new(Code::InvalidParams, "The address contains a NUL character.").into());
    }
    let auth = Rc::new(request.app_data::<web::Data<Auth>>().expect("the app has its Auth").clone());
    match access {
        Access::AgentKey | Access::Monitoring => Ok(()),
        Access::Anybody => {
            if request.method() == Method::POST {
                let visit = request.cookie(VISIT_COOKIE).map(|cookie| cookie.value().to_owned());
                let expected = visit.map(|visit| auth.visit_token(&visit));
                check_form(request, expected.as_deref()).await?;
            }
            Ok(())
        }
        Access::SignedIn(permission) => {
            let cookie =
                request.cookie(SESSION_COOKIE).map(|cookie| cookie.value().to_owned()).unwrap_or_default();
            let visitor = auth.session(&cookie).await?;
            permit(request, &visitor, permission)?;
            if request.method() == Method::POST {
                let expected = auth.form_token(&visitor.means);
                check_form(request, Some(&expected)).await?;
            }
            request.extensions_mut().insert(visitor);
            Ok(())
        }
        Access::Token(permission) => {
            let Some(token) = bearer(request.request()) else {
                let sentence = "Send a person's API token as `Authorization: Bearer TOKEN`.";
                return Err(Denial::new(Code::Unauthenticated, sentence).into());
            };
            let visitor = auth.api_token(&token, &source(request.request(), Door::Rest)).await?;
            permit(request, &visitor, permission)?;
            request.extensions_mut().insert(visitor);
            Ok(())
        }
    }
}

fn permit(request: &ServiceRequest, visitor: &Visitor, permission: Permission) -> Result<(), Error> {
    if visitor.person.role.may(permission) {
        return Ok(());
    }
    if request.method() == Method::POST {
        request.extensions_mut().insert(TurnedAway(visitor.clone()));
    }
    Err(Denial::new(Code::Forbidden, "Your role does not allow this. An owner can change it.").into())
}

impl FromRequest for Visitor {
    type Error = actix_web::Error;
    type Future = std::future::Ready<Result<Self, Self::Error>>;

    /// The person whom the guard let in. A handler behind a row without a person can't have one.
    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let visitor = request.extensions().get::<Self>().cloned();
        std::future::ready(visitor.ok_or_else(|| actix_web::error::ErrorInternalServerError("no visitor")))
    }
}
