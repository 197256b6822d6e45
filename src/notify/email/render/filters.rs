//! Filters for the templates of mails.

#![expect(
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "the shape of a filter, which is turned into a method"
)]

use askama::{Result, Values, filters::Safe};

use super::line;
use crate::text;

/// The look of a code point that is shown as its code, for readers that drop style sheets.
const CODE: &str = "font:600 12px monospace;background:#fae6e3;color:#a32a22;border-radius:3px;padding:0 4px";

/// HTML of a text that nobody here wrote. A program that reads mail finds no address in it to turn into a link.
#[askama::filter_fn]
pub fn inert(text: impl std::fmt::Display, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(unlinked(&text::inert(&text.to_string()))))
}

/// The same in one line: a line break is a space.
#[askama::filter_fn]
pub fn inert_line(text: impl std::fmt::Display, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(unlinked(&text::inert_line(&text.to_string()))))
}

/// Plain text in one line of a text that nobody here wrote.
#[askama::filter_fn]
pub fn plain_line(text: impl std::fmt::Display, _: &dyn Values) -> Result<String> {
    Ok(line::one(&text.to_string()))
}

/// Plain text that nobody here wrote, with a mark at the beginning of each of its lines.
#[askama::filter_fn]
pub fn quoted(text: impl std::fmt::Display, _: &dyn Values) -> Result<String> {
    Ok(line::quoted(&text.to_string()))
}

/// Marks the places in inert HTML at which an address could be read or a long word may be broken, and gives codes their look.
fn unlinked(html: &str) -> String {
    let mut marked = String::with_capacity(html.len() + 64);
    let (mut in_tag, mut before) = (false, ' ');
    let mut rest = html.chars().peekable();
    while let Some(c) = rest.next() {
        marked.push(c);
        in_tag = c == '<' || in_tag && before != '>';
        let next = rest.peek().copied().unwrap_or(' ');
        let joint = match c {
            '.' => before.is_alphanumeric() && next.is_alphabetic(),
            '@' => !before.is_whitespace() && !next.is_whitespace(),
            ':' => next == '/',
            // As a word of ours may be: "partially_refunded".
            '_' => true,
            _ => false,
        };
        if joint && !in_tag {
            marked.push_str("<wbr>");
        }
        before = c;
    }
    // A run of codes has one look: a reason of nothing else is no larger than another.
    let marked = marked.replace("</span><span class=\"cp\">", " ");
    marked.replace("<span class=\"cp\">", &format!("<span class=\"cp\" style=\"{CODE}\">"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        unlinked(&text::inert_line(text))
    }

    #[test]
    fn an_address_is_no_link() {
        assert_eq!(
            shown("See https://evil.example/x?a=1&b or www.evil.example, or mail a.b@evil.example."),
            "<bdi>See https:<wbr>//evil.<wbr>example/x?a=1&amp;b or www.<wbr>evil.<wbr>example, or mail \
             a.<wbr>b@<wbr>evil.<wbr>example.</bdi>"
        );
        assert_eq!(shown("INR 8,999.00. Then: done"), "<bdi>INR 8,999.00. Then: done</bdi>");
    }

    #[test]
    fn a_run_of_codes_is_marked_once() {
        let html = shown(&"\u{E0041}".repeat(1000));
        assert!(html.len() < 10_000, "{} bytes", html.len());
        assert_eq!(html.matches("U+E0041").count(), 1000);
    }

    #[test]
    fn only_our_own_codes_look_like_codes() {
        let html = shown("a\u{202E}b <span class=\"cp\">U+202E</span>");
        assert_eq!(html.matches("style=").count(), 1, "{html}");
        assert!(html.contains("&lt;span class=&quot;cp&quot;&gt;U+202E&lt;/span&gt;"), "{html}");
    }
}
