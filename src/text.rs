//! Text from agents, made inert and visible: escaped, isolated in its direction, and with every invisible or
//! bidirectional code point shown as itself.

/// Filters for templates.
pub mod filters {
    use askama::{Result, Values, filters::Safe};

    /// HTML of a text that nobody here wrote.
    #[askama::filter_fn]
    pub fn inert(text: impl std::fmt::Display, _: &dyn Values) -> Result<Safe<String>> {
        Ok(Safe(super::inert(&text.to_string())))
    }
}

/// HTML of a text that nobody here wrote.
pub fn inert(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 16);
    html.push_str("<bdi>");
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html.push_str("</bdi>");
    html
}
