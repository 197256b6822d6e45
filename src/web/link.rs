//! Addresses within the dashboard.

use url::form_urlencoded::{Serializer, byte_serialize};

/// A path with those parameters that have a value.
pub fn link(path: &str, parameters: &[(&str, &str)]) -> String {
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    let query = Serializer::new(String::new()).extend_pairs(given).finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

/// The page of a record as actions and events name it ("order:#1044"), and what to call it.
pub fn record(subject: &str) -> (String, Option<String>) {
    match subject.split_once(':') {
        Some(("order", name)) => (format!("order {name}"), Some(order(name))),
        Some(("product", sku)) => (sku.to_owned(), Some(link("/products", &[("q", sku)]))),
        _ => (subject.to_owned(), None),
    }
}

/// The page of the order of that public id.
pub fn order(name: &str) -> String {
    let segment: String = byte_serialize(name.trim_start_matches('#').as_bytes()).collect();
    format!("/orders/{}", segment.replace('+', "%20"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_what_has_a_value() {
        assert_eq!(link("/actions", &[("status", ""), ("kind", "")]), "/actions");
        assert_eq!(link("/audit", &[("actor", "a&b"), ("denied", "1")]), "/audit?actor=a%26b&denied=1");
        assert_eq!(record("order:#1044"), ("order #1044".to_owned(), Some("/orders/1044".to_owned())));
        assert_eq!(record("order:#a/b c").1.as_deref(), Some("/orders/a%2Fb%20c"));
        assert_eq!(record("product:CB 500").1.as_deref(), Some("/products?q=CB+500"));
        assert_eq!(record("shelf:9"), ("shelf:9".to_owned(), None));
    }
}
