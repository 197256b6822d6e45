//! Texts in one line, and quotes.

use crate::text;

/// How long a subject is at most, in characters.
const SUBJECT: usize = 150;

/// Plain text in one line: a line break is a space.
pub fn one(text: &str) -> String {
    text::plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A subject: one line of a bearable length, and nothing that a reader would decode once more.
pub fn subject(text: &str, answers: bool) -> String {
    // "=?utf-8?b?…?=" is how other text is written in a header.
    let line = one(text).replace("=?", "= ?");
    let cut = cut(&line, SUBJECT);
    if answers { format!("Re: {cut}") } else { cut }
}

/// The text itself, or the beginning of a longer one.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(most - 1).collect();
    format!("{}…", beginning.trim_end())
}

/// Plain text with a mark at the beginning of each of its lines: nothing in it passes for a line of ours.
pub fn quoted(text: &str) -> String {
    let plain = text::plain(text);
    let lines = plain.split('\n').map(|line| match line.trim_end() {
        "" => ">".to_owned(),
        line => format!("> {line}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_one_line_that_is_read_as_it_is_written() {
        assert_eq!(subject("Refund\r\nBcc: a@b.example\u{2028}x", false), "Refund Bcc: a@b.example[U+2028]x");
        assert_eq!(subject("=?utf-8?b?8J+Yig==?=", true), "Re: = ?utf-8?b?8J+Yig== ?=");
        assert_eq!(subject("safe\u{202E}\u{200B}", false), "safe[U+202E][U+200B]");
    }

    #[test]
    fn a_long_subject_is_cut() {
        let cut = subject(&"word ".repeat(1000), true);
        assert_eq!(cut.chars().count(), "Re: ".len() + SUBJECT, "{cut}");
        assert!(cut.ends_with("word…"), "{cut}");
        assert_eq!(subject(&"é".repeat(SUBJECT), false), "é".repeat(SUBJECT));
    }

    #[test]
    fn every_line_of_a_quote_is_marked() {
        assert_eq!(
            quoted("Please.\n\nApproved by owner@example.com\r\n-- \r\n\r\rx\u{2028}y"),
            "> Please.\n>\n> Approved by owner@example.com\n> --\n> [U+000D][U+000D]x[U+2028]y"
        );
    }
}
