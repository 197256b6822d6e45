//! The guard before every route: what the table of routes says is enforced here, before a handler runs.

mod client;
mod decision;
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
pub use form::{BODY_TIME, FORM_BYTES, FORM_TOKEN, VISIT_COOKIE};

use super::{Auth, Visitor};
use crate::{
    audit::{Door, What},
    error::{Code, Denial, Error},
    store::people::Role,
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
    /// Whoever has an address that this server made; the handler looks at it. It needs no form of ours: a mail program
    /// posts to it by itself.
    Address,
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
    decides: Option<What>,
    make: Option<Make>,
}

type Make = Box<dyn Fn(Option<What>) -> actix_web::Route + Send + Sync>;

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
        let make: Make = Box::new(move |decides| {
            let route = if verb == Method::GET { get() } else { web::method(verb.clone()) };
            let route = route.to(handler.clone());
            let row = Row {
                access,
                refuse,
                decides,
            };
            route.wrap(from_fn(move |request, next| admit(row, request, next)))
        });
        Self {
            method,
            path,
            access,
            decides: None,
            make: Some(make),
        }
    }

    /// A row of a service that mounts itself and guards itself as `access` says.
    pub fn of_service(method: Method, path: &'static str, access: Access) -> Self {
        Self {
            method,
            path,
            access,
            decides: None,
            make: None,
        }
    }

    /// What a person decides here: each try is an event, denied ones too.
    #[must_use]
    pub fn deciding(self, what: What) -> Self {
        Self {
            decides: Some(what),
            ..self
        }
    }

    /// The route behind its guard; none for a service.
    pub fn mount(&self) -> Option<actix_web::Route> {
        self.make.as_ref().map(|make| make(self.decides))
    }
}

/// A `GET` answers `HEAD` too, with the same headers.
fn get() -> actix_web::Route {
    web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
}

/// What the guard knows of a row.
#[derive(Clone, Copy)]
struct Row {
    access: Access,
    refuse: Refuse,
    decides: Option<What>,
}

async fn admit(
    row: Row,
    mut request: ServiceRequest,
    next: Next<impl actix_web::body::MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    if let Err(error) = judge(row.access, &mut request).await {
        let denial = error.into_denial();
        let written = written(row, request.request(), denial.code).await;
        let response = (row.refuse)(request.request(), written.err().map_or(denial, Error::into_denial));
        return Ok(request.into_response(response));
    }
    let response = next.call(request).await?.map_into_boxed_body();
    if !decision::is_unread(response.status()) {
        return Ok(response);
    }
    match written(row, response.request(), Code::InvalidParams).await {
        Ok(()) => Ok(response),
        Err(error) => {
            let refused = (row.refuse)(response.request(), error.into_denial());
            Ok(response.into_response(refused))
        }
    }
}

/// The event of a decision that did not come to the gate.
async fn written(row: Row, request: &HttpRequest, code: Code) -> Result<(), Error> {
    match row.decides {
        Some(what) => decision::record(request, what, code).await,
        None => Ok(()),
    }
}

async fn judge(access: Access, request: &mut ServiceRequest) -> Result<(), Error> {
    if request.uri().to_string().contains("%00") {
        return Err(Denial::new(Code::InvalidParams, "The address contains a NUL character.").into());
    }
    let auth = Rc::new(request.app_data::<web::Data<Auth>>().expect("the app has its Auth").clone());
    match access {
        Access::AgentKey | Access::Monitoring | Access::Address => Ok(()),
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
            request.extensions_mut().insert(visitor.clone());
            permit(&visitor, permission)?;
            if request.method() == Method::POST {
                let expected = auth.form_token(&visitor.means);
                check_form(request, Some(&expected)).await?;
            }
            Ok(())
        }
        Access::Token(permission) => {
            let Some(token) = bearer(request.request()) else {
                let sentence = "Send a person's API token as `Authorization: Bearer TOKEN`.";
                return Err(Denial::new(Code::Unauthenticated, sentence).into());
            };
            let visitor = auth.api_token(&token, &source(request.request(), Door::Rest)).await?;
            request.extensions_mut().insert(visitor.clone());
            permit(&visitor, permission)
        }
    }
}

fn permit(visitor: &Visitor, permission: Permission) -> Result<(), Error> {
    if visitor.person.role.may(permission) {
        return Ok(());
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
