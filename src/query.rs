//! What an address asks for after its question mark, for REST and the dashboard alike: known parameters only, each at
//! most once, and no value that means nothing.

use std::{collections::BTreeMap, str::FromStr};

use url::form_urlencoded;

use crate::{
    error::{Code, Denial},
    paging::{self, DEFAULT_LIMIT, MAX_LIMIT},
    store::read_id,
    text::quoted,
};

const MAX_CHARS: usize = 200;

/// The parameters of one request. An empty one counts as left out.
pub struct Query(BTreeMap<String, String>);

impl Query {
    /// Reads a query string.
    ///
    /// # Errors
    /// `invalid_params` for a parameter that is none of the `known`, is given twice or is very long.
    pub fn read(query: &str, known: &[&str]) -> Result<Self, Denial> {
        let mut values = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if !known.contains(&&*name) {
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

    /// A parameter as `read` understands it; `wanted` continues a sentence that begins with the name.
    ///
    /// # Errors
    /// `invalid_params`, as from all that follow.
    pub fn with<T>(
        &mut self,
        name: &str,
        wanted: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Denial> {
        let Some(text) = self.text(name) else { return Ok(None) };
        read(&text).map(Some).ok_or_else(|| Denial::invalid(name, format!("{name} {wanted}.")))
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
        self.with(name, "must be true or false", |text| text.parse().ok())
    }

    /// How many rows a page has at most.
    pub fn limit(&mut self) -> Result<i64, Denial> {
        let wanted = format!("must be a whole number from 1 to {MAX_LIMIT}");
        let in_range = |text: &str| text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
        Ok(self.with("limit", &wanted, in_range)?.unwrap_or(DEFAULT_LIMIT))
    }

    /// Where the page begins; opaque to the client.
    pub fn cursor<T>(&mut self, read: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, Denial> {
        let Some(text) = self.text("cursor") else { return Ok(None) };
        read(&text).map(Some).ok_or_else(paging::unknown_cursor)
    }
}

/// An id as it stands in an address.
///
/// # Errors
/// `invalid_params`.
pub fn id(name: &str, text: &str) -> Result<String, Denial> {
    let sentence = || format!("{name} must be an id such as 01995a3e-8f0c-7c21-b6d4-2f9e0a1b3c4d.");
    read_id(text).ok_or_else(|| Denial::invalid(name, sentence()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Query, String> {
        Query::read(query, &["limit", "agent"]).map_err(|denial| denial.message)
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
