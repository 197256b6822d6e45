//! What the address of a list asks for. A filter that means nothing is refused, as REST refuses it: a list that left it
//! out would look like an answer.

use std::future::{Ready, ready};

use actix_web::{FromRequest, HttpRequest, dev::Payload};

use super::refused::Refused;
use crate::{error::Denial, query::Query};

/// A question that a list can be asked.
pub trait Question: Sized {
    /// The parameters it is made of.
    const KNOWN: &'static [&'static str];

    /// Reads it.
    ///
    /// # Errors
    /// `invalid_params`, with the parameter at fault.
    fn read(query: &mut Query) -> Result<Self, Denial>;
}

/// The question of a request.
pub struct Asked<T>(pub T);

impl<T: Question> FromRequest for Asked<T> {
    type Error = Refused;
    type Future = Ready<Result<Self, Refused>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let question =
            Query::read(request.query_string(), T::KNOWN).and_then(|mut query| T::read(&mut query));
        ready(question.map(Self).map_err(|denial| Refused::from(denial).in_list(request.path())))
    }
}
