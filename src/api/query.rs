//! What REST reads from an address.

use actix_web::HttpRequest;
use utoipa::IntoParams;

use crate::{
    error::Denial,
    query::{self, Query},
};

/// The parameters that `P` describes to programs, and no others.
pub fn of<P: IntoParams>(request: &HttpRequest) -> Result<Query, Denial> {
    let described = P::into_params(|| None);
    let known: Vec<_> = described.iter().map(|parameter| parameter.name.as_str()).collect();
    Query::read(request.query_string(), &known)
}

/// Refuses every parameter, where none is known.
pub fn none(request: &HttpRequest) -> Result<(), Denial> {
    Query::read(request.query_string(), &[]).map(|_| ())
}

/// The id in the request's path.
pub fn path_id(request: &HttpRequest) -> Result<String, Denial> {
    query::id("id", request.match_info().get("id").unwrap_or_default())
}
