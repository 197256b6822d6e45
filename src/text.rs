//! Text from agents and from the outside, made inert and visible: escaped, isolated in its direction, and with every
//! code point that a reader can't see, or would take for another, shown as itself (`U+202E`), never obeyed.

mod suspects;

use suspects::{Suspicion, suspicions};

/// Filters for templates.
pub mod filters {
    use askama::{Result, Values, filters::Safe};

    /// HTML of a text that nobody here wrote.
    #[askama::filter_fn]
    pub fn inert(text: impl std::fmt::Display, _: &dyn Values) -> Result<Safe<String>> {
        Ok(Safe(super::inert(&text.to_string())))
    }

    /// The same in one line: a line break is a space.
    #[askama::filter_fn]
    pub fn inert_line(text: impl std::fmt::Display, _: &dyn Values) -> Result<Safe<String>> {
        Ok(Safe(super::inert_line(&text.to_string())))
    }

    /// The same without markup, where HTML allows none.
    #[askama::filter_fn]
    pub fn plain(text: impl std::fmt::Display, _: &dyn Values) -> Result<String> {
        Ok(super::plain(&text.to_string()))
    }
}

/// HTML of a text that nobody here wrote.
pub fn inert(text: &str) -> String {
    html(text, "<br>")
}

/// The same in one line: a line break is a space.
pub fn inert_line(text: &str) -> String {
    html(text, " ")
}

/// Plain text of a text that nobody here wrote, for a mail or a terminal: `[U+202E]`. Line breaks stay.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len() + 16);
    for (c, suspicion) in suspicions(text) {
        match suspicion {
            None => plain.push(c),
            Some(_) => plain.extend(["[", &code(c), "]"]),
        }
    }
    plain
}

/// What a reader must be told beside a text: how many of its characters are shown as codes. Empty when none is.
pub fn remark(text: &str) -> String {
    let of = |kind| suspicions(text).into_iter().filter(|(_, found)| *found == Some(kind)).count();
    let sentence = |count, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("One {one} is shown as its code.")),
        _ => Some(format!("{count} {many} are shown as their codes.")),
    };
    let unseen = sentence(of(Suspicion::Unseen), "invisible character", "invisible characters");
    let foreign = sentence(of(Suspicion::LookAlike), "letter of another script", "letters of other scripts");
    unseen.into_iter().chain(foreign).collect::<Vec<_>>().join(" ")
}

/// Whether there is nothing to see in a text.
pub fn is_blank(text: &str) -> bool {
    suspicions(text)
        .into_iter()
        .all(|(c, found)| c.is_whitespace() || found == Some(Suspicion::Unseen))
}

/// The first character of a text that can't be seen, or that orders others about: controls, line breaks and tabs
/// included.
pub fn unseen(text: &str) -> Option<char> {
    let found =
        |(c, suspicion): &(char, Option<Suspicion>)| c.is_control() || *suspicion == Some(Suspicion::Unseen);
    suspicions(text).into_iter().find(found).map(|(c, _)| c)
}

/// A name that a stranger made up, for a sentence: short and without anything invisible.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.chars().take(60).flat_map(char::escape_debug).collect::<String>())
}

fn html(text: &str, line_break: &str) -> String {
    let mut html = String::with_capacity(text.len() + 16);
    html.push_str("<bdi>");
    for (c, suspicion) in suspicions(text) {
        match c {
            _ if suspicion.is_some() => {
                html.push_str("<span class=\"cp\">");
                html.push_str(&code(c));
                html.push_str("</span>");
            }
            '\n' => html.push_str(line_break),
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

fn code(c: char) -> String {
    format!("U+{:04X}", u32::from(c))
}

/// One word for a POSIX shell.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    if text.chars().all(|c| plain(c) || c == ' ') {
        return format!("\"{text}\"");
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// How many there are of what goes by that word: "1 order", "2 orders", or "100 orders or more" where counting ended at `most`.
pub fn counted(count: i64, most: i64, word: &str) -> String {
    let figure = grouped(count.unsigned_abs());
    match count {
        1 => format!("1 {word}"),
        _ if count >= most => format!("{figure} {word}s or more"),
        _ => format!("{figure} {word}s"),
    }
}

/// A number with its thousands set apart: "1,204,331".
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text() {
        assert_eq!(
            inert(r#"<script>alert("x")</script> & 'y'"#),
            "<bdi>&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;y&#39;</bdi>"
        );
        assert_eq!(plain("<b> & 'y'"), "<b> & 'y'");
    }

    #[test]
    fn an_order_of_direction_is_shown_not_obeyed() {
        assert_eq!(
            inert("quickly\u{202E} as agreed"),
            "<bdi>quickly<span class=\"cp\">U+202E</span> as agreed</bdi>"
        );
        assert_eq!(plain("quickly\u{202E} as agreed"), "quickly[U+202E] as agreed");
    }

    #[test]
    fn line_breaks_and_tabs_are_what_they_are() {
        assert_eq!(inert("one\ntwo\r\nthree\tfour"), "<bdi>one<br>two<br>three\tfour</bdi>");
        assert_eq!(inert_line("one\ntwo"), "<bdi>one two</bdi>");
        assert_eq!(plain("one\r\ntwo\rthree"), "one\ntwo[U+000D]three");
    }

    #[test]
    fn what_can_not_be_seen_is_blank() {
        for blank in [
            "",
            " ",
            "\t\r\n",
            "\u{A0}\u{3000}",
            "\u{200B}\u{FEFF}",
            "\u{3164}\u{2800}",
            "\u{202E} \u{301}",
        ] {
            assert!(is_blank(blank), "{blank:?}");
        }
        for seen in [".", "\u{202E}.", "\u{1F4A3}", "\u{440}"] {
            assert!(!is_blank(seen), "{seen:?}");
        }
    }

    #[test]
    fn a_reader_is_told_how_many() {
        assert_eq!(remark("nothing"), "");
        assert_eq!(remark("a\u{200B}b"), "One invisible character is shown as its code.");
        assert_eq!(remark("a\u{200B}b\u{FEFF}"), "2 invisible characters are shown as their codes.");
        assert_eq!(
            remark("p\u{430}ypal\u{2060}"),
            "One invisible character is shown as its code. One letter of another script is shown as its code."
        );
        assert_eq!(remark("p\u{430}yp\u{430}l"), "2 letters of other scripts are shown as their codes.");
    }
}
