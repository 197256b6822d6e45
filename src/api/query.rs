//! Query parameters: known ones only, each at most once, and path ids.

use std::{collections::BTreeMap, str::FromStr};

use actix_web::HttpRequest;
use url::form_urlencoded;
use utoipa::IntoParams;

use super::body::quoted;
use crate::{
    error::{Code, Denial},
    store::read_id,
};

const MAX_CHARS: usize = 200;
const DEFAULT_LIMIT: i64 = 20;
const MAX_LIMIT: i64 = 50;

/// The parameters of one request. An empty one counts as left out.
pub struct Query(BTreeMap<String, String>);

impl Query {
    /// Reads the parameters that `P` describes and refuses all others.
    pub fn of<P: IntoParams>(request: &HttpRequest) -> Result<Self, Denial> {
        let known: Vec<_> = P::into_params(|| None).into_iter().map(|parameter| parameter.name).collect();
        Self::read(request.query_string(), &known)
    }

    fn read(query: &str, known: &[String]) -> Result<Self, Denial> {
        let mut values = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if !known.iter().any(|known| *known == name) {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let message = format!("There is no parameter {} here. Known: {known}.", quoted(&name));
                return Err(Denial::new(Code::InvalidParams, message));
            }
            if value.chars().count() > MAX_CHARS {
                let message = format!("{name} must have at most {MAX_CHARS} characters.");
                return Err(Denial::invalid(name, message));
            }
            if values.insert(name.clone().into_owned(), value.into_owned()).is_some() {
                return Err(Denial::invalid(name.clone(), format!("{name} is given twice.")));
            }
        }
        values.retain(|_, value| !value.is_empty());
        Ok(Self(values))
    }

    /// A parameter as it was given.
    pub fn text(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// A parameter in its type, whose error continues a sentence that begins with the name.
    pub fn parsed<T: FromStr<Err: Into<String>>>(&mut self, name: &str) -> Result<Option<T>, Denial> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(wanted) => Err(Denial::invalid(name, format!("{name} {}.", wanted.into()))),
        }
    }

    /// A parameter that is an id.
    pub fn id(&mut self, name: &str) -> Result<Option<String>, Denial> {
        self.text(name).map(|text| id(name, &text)).transpose()
    }

    /// A parameter that is `true` or `false`.
    pub fn flag(&mut self, name: &str) -> Result<Option<bool>, Denial> {
        let flag = self.text(name).map(|text| text.parse());
        flag.transpose()
            .map_err(|_| Denial::invalid(name, format!("{name} must be true or false.")))
    }

    /// How many rows a page has at most.
    pub fn limit(&mut self) -> Result<i64, Denial> {
        let Some(text) = self.text("limit") else {
            return Ok(DEFAULT_LIMIT);
        };
        let limit = text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
        limit.ok_or_else(|| {
            Denial::invalid("limit", format!("limit must be a whole number from 1 to {MAX_LIMIT}."))
        })
    }

    /// Where the page begins; opaque to the client.
    pub fn cursor<T>(&mut self, read: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, Denial> {
        let Some(text) = self.text("cursor") else { return Ok(None) };
        let sentence = "cursor must be the next_cursor of the page before.";
        read(&text).map(Some).ok_or_else(|| Denial::invalid("cursor", sentence))
    }
}

/// Refuses every parameter, where none is known.
pub fn none(request: &HttpRequest) -> Result<(), Denial> {
    Query::read(request.query_string(), &[]).map(|_| ())
}

/// The id in the request's path.
pub fn path_id(request: &HttpRequest) -> Result<String, Denial> {
    id("id", request.match_info().get("id").unwrap_or_default())
}

fn id(name: &str, text: &str) -> Result<String, Denial> {
    let sentence = || format!("{name} must be an id such as 01995a3e-8f0c-7c21-b6d4-2f9e0a1b3c4d.");
    read_id(text).ok_or_else(|| Denial::invalid(name, sentence()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Query, String> {
        Query::read(query, &["limit".to_owned(), "agent".to_owned()]).map_err(|denial| denial.message)
    }

    #[test]
    fn parameters_are_known_and_given_once() {
        let mut query = read("agent=a%20b&limit=").unwrap();
        assert_eq!(query.text("agent").as_deref(), Some("a b"));
        assert_eq!(query.limit().unwrap(), DEFAULT_LIMIT);
        for (query, message) in [
            ("x=1", "There is no parameter `x` here. Known: limit, agent."),
            ("%E2%80%AE=1", "There is no parameter `\\u{202e}` here. Known: limit, agent."),
            ("agent=a&agent=b", "agent is given twice."),
        ] {
            assert_eq!(read(query).err().as_deref(), Some(message), "{query}");
        }
    }

    #[test]
    fn a_limit_is_a_number_in_its_range() {
        for (limit, expected) in [("1", Some(1)), ("50", Some(50)), ("0", None), ("51", None), ("1.0", None)]
        {
            assert_eq!(read(&format!("limit={limit}")).unwrap().limit().ok(), expected, "{limit}");
        }
    }
}
