//! JSON bodies, read strictly: closed objects, no member twice, no floats, nothing large.

use std::sync::LazyLock;

use actix_web::{HttpMessage, HttpRequest, error::PayloadError, web};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Problem;
use crate::{
    auth::guard::BODY_TIME,
    error::{Code, Denial},
    http,
    kinds::{JsonObject, Shape},
    strict::{Numbers, Part, Reader},
    text::quoted,
};

/// The largest body, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// Reads the request's body into its type.
pub async fn read<T: DeserializeOwned>(
    request: &HttpRequest,
    payload: web::Payload,
    shape: &LazyLock<Shape>,
) -> Result<T, Problem> {
    if !request.content_type().eq_ignore_ascii_case("application/json") {
        let denial = invalid("The body must be JSON: send it with content-type: application/json.");
        return Err(Problem::with_status(http::WRONG_TYPE, denial));
    }
    let arrived = tokio::time::timeout(BODY_TIME, payload.to_bytes_limited(MAX_BYTES));
    let bytes = match arrived.await.unwrap_or(Ok(Err(PayloadError::Incomplete(None).into()))) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return Err(invalid("The body did not arrive whole.").into()),
        Err(_) => {
            let denial = invalid("The body is larger than 64 KiB.");
            return Err(Problem::with_status(http::TOO_LARGE, denial));
        }
    };
    Ok(parse(&bytes, shape)?)
}

fn parse<T: DeserializeOwned>(bytes: &[u8], shape: &Shape) -> Result<T, Denial> {
    let members = object(bytes)?;
    let known = shape.schema().get("properties").and_then(Value::as_object);
    if let Some(unknown) = members.keys().find(|name| known.is_none_or(|known| !known.contains_key(*name))) {
        let known: Vec<_> = known.into_iter().flat_map(|known| known.keys().map(String::as_str)).collect();
        return Err(invalid(format!(
            "The body has a member that is not known here: {}. It takes {}.",
            quoted(unknown),
            known.join(", ")
        )));
    }
    shape.check(&members)?;
    serde_json::from_value(Value::Object(members))
        .map_err(|_| invalid("The body is not in the form /api/openapi.json describes."))
}

fn object(bytes: &[u8]) -> Result<JsonObject, Denial> {
    let text = std::str::from_utf8(bytes).map_err(|_| invalid("The body is not UTF-8."))?;
    let mut reader = Reader::new(Part::Whole, Numbers::Whole);
    let read = reader.read(text);
    if let Some(fault) = reader.fault {
        return Err(invalid(fault));
    }
    match read {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(invalid("The body must be a JSON object.")),
        Err(_) => Err(invalid("The body is not valid JSON.")),
    }
}

fn invalid(message: impl Into<String>) -> Denial {
    Denial::new(Code::InvalidParams, message)
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Sample {
        digest: String,
        count: Option<i64>,
    }

    fn sample(text: &str) -> Result<Sample, String> {
        parse(text.as_bytes(), &Shape::of::<Sample>()).map_err(|denial| denial.message)
    }

    #[test]
    fn what_fits_is_read() {
        let read = sample(r#"{"digest": "ab", "count": 2}"#).unwrap();
        assert_eq!((read.digest.as_str(), read.count), ("ab", Some(2)));
        assert_eq!(sample(r#"{"digest": "ab"}"#).unwrap().count, None);
    }

    #[test]
    fn everything_else_is_told_what_is_wrong() {
        let whole =
            "must be a whole number from -2^53 to 2^53, written without a decimal point or an exponent.";
        for (text, message) in [
            ("", "The body is not valid JSON.".to_owned()),
            ("{", "The body is not valid JSON.".to_owned()),
            ("[]", "The body must be a JSON object.".to_owned()),
            ("null", "The body must be a JSON object.".to_owned()),
            (r#"{"digest":"a","digest":"b"}"#, "`digest` is given twice.".to_owned()),
            (r#"{"digest":"a","count":1.0}"#, format!("`count` {whole}")),
            (r#"{"digest":"a","count":9007199254740993}"#, format!("`count` {whole}")),
            (r#"{"digest":"a","count":"1"}"#, "count must be of type integer.".to_owned()),
            (r#"{"digest":"a\u0000"}"#, "digest contains a NUL character; leave it out.".to_owned()),
            (r#"{"digest":null}"#, "digest must be of type string.".to_owned()),
            ("{}", "digest is missing.".to_owned()),
            (
                r#"{"digest":"a","\u202e":1}"#,
                "The body has a member that is not known here: `\\u{202e}`. It takes digest, count."
                    .to_owned(),
            ),
        ] {
            assert_eq!(sample(text).unwrap_err(), message, "{text}");
        }
    }
}
