//! What a kind's template says of the record, without its markup: a mail has no links but its own, and no style sheet.

/// A part of the facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    pub title: String,
    pub items: Vec<Item>,
}

/// One thing to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is about; empty for a sentence.
    pub term: String,
    pub text: String,
}

/// Reads the facts' HTML: headings begin parts, terms and definitions are facts, paragraphs are sentences. The rest of the
/// markup is left out, and whatever comes of it is still a text that nobody here wrote.
pub fn parts(html: &str) -> Vec<Part> {
    let (mut parts, mut term, mut text) = (Vec::<Part>::new(), String::new(), String::new());
    for piece in html.split('<') {
        let (tag, after) = piece.split_once('>').unwrap_or(("", piece));
        let name = tag.split_whitespace().next().unwrap_or_default();
        match name {
            "h3" | "dt" | "dd" | "p" => text.clear(),
            "span" if tag.contains("class=\"cp\"") => text.push('['),
            "/span" if text.rfind('[').is_some_and(|open| is_code(&text[open + 1..])) => text.push(']'),
            "br" => text.push(' '),
            "/h3" => parts.push(Part {
                title: in_one_line(&text),
                items: Vec::new(),
            }),
            "/dt" => term = in_one_line(&text),
            "/dd" | "/p" => {
                if parts.is_empty() {
                    parts.push(Part::default());
                }
                let item = Item {
                    term: std::mem::take(&mut term),
                    text: in_one_line(&text),
                };
                parts.last_mut().expect("there is one").items.push(item);
            }
            _ => {}
        }
        text.push_str(after);
    }
    parts.retain(|part| !part.items.is_empty());
    parts
}

/// Whether a text is "U+202E".
fn is_code(text: &str) -> bool {
    text.strip_prefix("U+").is_some_and(|hex| hex.chars().all(|c| c.is_ascii_hexdigit()))
}

fn in_one_line(html: &str) -> String {
    let text = html.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    let text = text.replace("&#60;", "<").replace("&#62;", ">").replace("&#34;", "\"");
    let text = text.replace("&#39;", "'").replace("&#38;", "&");
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::inert;

    fn item(term: &str, text: &str) -> Item {
        Item {
            term: term.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn facts_and_sentences_in_their_parts() {
        let html = "<section>\n <h3>Order</h3>\n <dl class=\"facts\">\n  <dt>Number</dt><dd><a href=\"/orders/1\">#1</a></dd>\n\
                    <dt>Lines</dt><dd>2 × <bdi>Cups</bdi>,\n 1 × <bdi>Pot</bdi></dd></dl></section>\
                    <section><h3>Nothing</h3></section><section><h3>Money</h3><p>Nothing is owed.</p></section>";
        assert_eq!(
            parts(html),
            [
                Part {
                    title: "Order".to_owned(),
                    items: vec![item("Number", "#1"), item("Lines", "2 × Cups, 1 × Pot")],
                },
                Part {
                    title: "Money".to_owned(),
                    items: vec![item("", "Nothing is owed.")],
                },
            ]
        );
    }

    #[test]
    fn what_was_inert_reads_as_it_was_shown() {
        let name = "<b>&amp; 'it'</b> \"x\"\u{202E} [U+1] &lt;dd>";
        let found = parts(&format!("<dt>Title</dt><dd>{}</dd>", inert(name)));
        assert_eq!(found[0].items, [item("Title", "<b>&amp; 'it'</b> \"x\"[U+202E] [U+1] &lt;dd>")]);
    }

    #[test]
    fn half_a_tag_is_no_harm() {
        for html in ["", "<", ">", "<dd", "</dd>", "<dt>a</dt>", "&", "a<b>c</p>"] {
            parts(html);
        }
    }
}
