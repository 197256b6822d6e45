//! The dashboard: one file per page.
//!
//! Every page is whole: real links, real forms, a redirect after each POST. Where htmx is at work it asks for the same
//! pages and takes the parts it needs, so nothing here knows of fragments.

pub mod account;
pub mod action;
pub mod agents;
pub mod asked;
pub mod assets;
pub mod audit;
pub mod choice;
pub mod deliveries;
pub mod filter;
pub mod history;
pub mod link;
pub mod login;
pub mod people;
pub mod queue;
pub mod refused;
pub mod shell;
pub mod site;
pub mod unsubscribe;
pub mod way;
pub mod when;
mod words;

use actix_web::{
    http::header::{self, HeaderName},
    middleware::DefaultHeaders,
    web::{FormConfig, PathConfig, QueryConfig, ServiceConfig},
};

use crate::auth::guard::FORM_BYTES;

pub use refused::{misdirected, not_found, refuse, wrong_method};

/// Nothing from elsewhere, nothing inline, no frame around us.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The headers of every answer that has none of its own.
pub fn headers() -> DefaultHeaders {
    DefaultHeaders::new()
        .add((header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY))
        .add((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .add((header::REFERRER_POLICY, "same-origin"))
        .add((HeaderName::from_static("cross-origin-opener-policy"), "same-origin"))
        .add((header::CACHE_CONTROL, "no-store"))
}

/// What a person types into a form or an address is answered with a page, whatever is wrong with it.
pub fn configure(config: &mut ServiceConfig) {
    config
        .app_data(FormConfig::default().limit(FORM_BYTES).error_handler(|_, _| refused::malformed()))
        .app_data(QueryConfig::default().error_handler(|_, _| refused::malformed()))
        .app_data(PathConfig::default().error_handler(|_, _| refused::malformed()));
}
