//! A letter in words: subject, plain text and HTML.
//!
//! What agents, people and servers wrote is inert and visible in all three, as it is on the pages ([`crate::text`]).

mod card;
mod facts;
mod filters;
mod gist;
mod line;
mod notice;
mod outcome;
mod reader;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod warning;

use askama::Template;

use self::{card::Card, gist::Gist, line::subject, notice::Notice, reader::Footer};
use super::super::Letter;

/// A message's contents.
pub struct Rendered {
    pub subject: String,
    pub text: String,
    pub html: String,
}

/// The letter's contents.
pub fn letter(letter: &Letter) -> Rendered {
    let gist = Gist::of(letter);
    let page = Page {
        subject: subject(&gist.subject, letter.answers.is_some()),
        preheader: gist.preheader,
        heading: gist.heading,
        lead: gist.lead,
        queue: gist.queue,
        cards: letter.told.iter().filter_map(|told| Card::of(told, letter)).collect(),
        notices: notice::all(letter),
        left_out: gist.left_out,
        footer: Some(Footer::of(letter)),
    };
    page.rendered()
}

/// The test mail's contents.
pub fn test() -> Rendered {
    let sentence = "This is a test: Countersign can send mail to this address.";
    let page = Page {
        subject: "Countersign can send mail".to_owned(),
        preheader: sentence.to_owned(),
        heading: Some("Countersign can send mail".to_owned()),
        lead: Some(sentence.to_owned()),
        queue: None,
        cards: Vec::new(),
        notices: Vec::new(),
        left_out: None,
        footer: None,
    };
    page.rendered()
}

/// Everything a letter shows, from top to bottom.
struct Page {
    subject: String,
    /// What a list of mails shows beside the subject.
    preheader: String,
    /// Over several things, or over what is about no action.
    heading: Option<String>,
    lead: Option<String>,
    /// The address of the queue, where it is the next thing to look at.
    queue: Option<String>,
    cards: Vec<Card>,
    notices: Vec<Notice>,
    /// What there is beyond that.
    left_out: Option<String>,
    footer: Option<Footer>,
}

impl Page {
    /// Whether there are several things, each told in short.
    fn is_list(&self) -> bool {
        self.heading.is_some()
    }

    fn rendered(self) -> Rendered {
        let text = Text { page: &self }.render().expect("the template renders");
        let html = Html { page: &self }.render().expect("the template renders");
        Rendered {
            text: without_gaps(&text, 1),
            html: without_gaps(&html, 0),
            subject: self.subject,
        }
    }
}

#[derive(Template)]
#[template(path = "mail/letter.txt")]
struct Text<'a> {
    page: &'a Page,
}

#[derive(Template)]
#[template(path = "mail/letter.html")]
struct Html<'a> {
    page: &'a Page,
}

/// With at most so many blank lines in a row: the tags of a template leave some behind. What others wrote has none, since
/// each of its lines is a quote or marked up.
fn without_gaps(text: &str, most: usize) -> String {
    let (mut kept, mut blank) = (String::with_capacity(text.len()), most);
    for line in text.lines() {
        // The line that begins a footer, as readers of mail know it, ends in a space.
        let line = if line == "-- " { line } else { line.trim_end() };
        blank = if line.is_empty() { blank + 1 } else { 0 };
        if blank <= most {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept.truncate(kept.trim_end().len());
    kept.push('\n');
    kept
}
