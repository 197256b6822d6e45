//! Problem documents (RFC 9457): the form of everything that goes wrong.

use std::collections::BTreeMap;

use actix_web::{
    HttpRequest, HttpResponse, ResponseError,
    http::{StatusCode, header},
};
use serde::Serialize;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{self, ContentBuilder, Ref, RefOr, ResponseBuilder},
};

use super::names::CodeName;
use crate::{
    error::{Code, Denial, Error, Winner},
    http,
    workflow::view::rfc3339,
};

const MEDIA_TYPE: &str = "application/problem+json";
const CHALLENGE: &str = r#"Bearer realm="countersign""#;

/// A problem document (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem {
    /// A URI that stands for the code.
    r#type: String,
    /// What the code means.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What happened and what to do now.
    detail: String,
    /// What programs match on.
    #[schema(value_type = CodeName)]
    code: &'static str,
    /// The member or parameter at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// The business rule that refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    /// Seconds to wait before the same call can succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u64>,
    /// With `already_decided`: the decision that came first.
    #[serde(skip_serializing_if = "Option::is_none")]
    winner: Option<First>,
    /// With `related_actions`: the ids to acknowledge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<String>,
    /// The methods that the address takes, when the request's was none of them.
    #[serde(skip)]
    allow: Option<String>,
}

/// The decision that came first.
#[derive(Debug, Serialize, ToSchema)]
pub struct First {
    /// The status the action has now.
    status: &'static str,
    /// The person's e-mail address or the agent's name; left out when the action expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

/// How the rows of this door say no.
pub fn refuse(_: &HttpRequest, denial: Denial) -> HttpResponse {
    Problem::from(denial).error_response()
}

/// The answer at an address that is in no row.
pub fn unlisted() -> Problem {
    Denial::new(Code::NotFound, "There is nothing at this address. /api/openapi.json lists what there is.")
        .into()
}

/// The answer to a method that the address doesn't take.
pub fn wrong_method(allowed: &str) -> Problem {
    let denial = Denial::new(Code::InvalidParams, format!("This address takes {allowed}."));
    Problem {
        allow: Some(allowed.to_owned()),
        ..Problem::with_status(http::WRONG_METHOD, denial)
    }
}

/// The answer to a request by a name that is none of this server's.
pub fn misdirected() -> Problem {
    Problem::with_status(http::MISDIRECTED, Denial::new(Code::InvalidParams, http::MISDIRECTED_SENTENCE))
}

impl Problem {
    /// A denial whose status says more than its code does.
    pub(super) fn with_status(status: u16, denial: Denial) -> Self {
        Self {
            status,
            ..denial.into()
        }
    }
}

impl From<Denial> for Problem {
    fn from(denial: Denial) -> Self {
        Self {
            r#type: format!("urn:countersign:problem:{}", denial.code.as_str()),
            title: title(denial.code),
            status: http::status(denial.code),
            detail: denial.message,
            code: denial.code.as_str(),
            field: denial.field.filter(|field| !field.is_empty()),
            rule: denial.rule,
            retry_after_seconds: denial.retry_after_seconds,
            winner: denial.winner.map(|winner| First::from(*winner)),
            related: denial.related.into_vec(),
            allow: None,
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        error.into_denial().into()
    }
}

impl From<Winner> for First {
    fn from(winner: Winner) -> Self {
        Self {
            status: winner.status,
            by: winner.by,
            at: winner.at.map(rfc3339),
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        response.insert_header((header::CACHE_CONTROL, "no-store"));
        if self.code == Code::Unauthenticated.as_str() {
            response.insert_header((header::WWW_AUTHENTICATE, CHALLENGE));
        }
        if let Some(seconds) = self.retry_after_seconds {
            response.insert_header((header::RETRY_AFTER, seconds.to_string()));
        }
        if let Some(methods) = &self.allow {
            response.insert_header((header::ALLOW, methods.clone()));
        }
        response.content_type(MEDIA_TYPE).body(crate::kinds::canonical::canonical(self))
    }
}

fn title(code: Code) -> &'static str {
    match code {
        Code::InvalidParams => "The request is not in the form it has to be",
        Code::NotFound => "There is no such thing",
        Code::ScopeMissing => "The agent lacks a scope",
        Code::RateLimited => "Too many requests",
        Code::Paused => "This is paused",
        Code::IdempotencyKeyRequired => "An idempotency key is required",
        Code::IdempotencyKeyReused => "The idempotency key names another write",
        Code::RuleRefused => "A business rule refused",
        Code::Unavailable => "The database is unavailable",
        Code::Internal => "Something went wrong inside Countersign",
        Code::Unauthenticated => "Not signed in",
        Code::Forbidden => "The role does not allow this",
        Code::DigestMismatch => "The decision names another content",
        Code::SubjectChanged => "The record has changed",
        Code::RelatedActions => "There are related actions",
        Code::AlreadyDecided => "Already decided",
    }
}

impl IntoResponses for Problem {
    /// Every status that a code can have, and those that the door adds.
    fn responses() -> BTreeMap<String, RefOr<openapi::Response>> {
        let mut codes: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
        for code in Code::ALL {
            codes.entry(http::status(code)).or_default().push(code.as_str());
        }
        codes.insert(http::TOO_LARGE, vec![Code::InvalidParams.as_str()]);
        codes.insert(http::WRONG_TYPE, vec![Code::InvalidParams.as_str()]);
        let problem = |codes: Vec<&str>| {
            let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
            ResponseBuilder::new().description(codes.join(", ")).content(MEDIA_TYPE, content).build()
        };
        codes
            .into_iter()
            .map(|(status, codes)| (status.to_string(), RefOr::T(problem(codes))))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_is_away_says_when_to_come_back_and_nothing_else() {
        let away = Error::Unavailable("connection to server at 10.0.0.7 failed".into());
        let response = Problem::from(away).error_response();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers().get(header::RETRY_AFTER).unwrap(), "1");
        let problem = Problem::from(Error::Internal("no such column: secret".into()));
        assert_eq!((problem.status, problem.code), (500, "internal"));
        assert!(!problem.detail.contains("column"), "{problem}");
    }

    #[test]
    fn a_limit_says_when_it_ends() {
        let denial = Denial {
            retry_after_seconds: Some(7),
            ..Denial::new(Code::RateLimited, "Too many.")
        };
        let response = Problem::from(denial).error_response();
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers().get(header::RETRY_AFTER).unwrap(), "7");
    }
}
