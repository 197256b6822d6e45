//! A mail as it arrived.

use mail_parser::{HeaderValue, MessageParser};

/// A mail, read by a parser of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// Whom the envelope names.
    pub from: String,
    pub to: Vec<String>,
    /// All of it, as sent.
    pub raw: String,
    pub subject: String,
    pub message_id: String,
    pub in_reply_to: Option<String>,
    pub text: String,
    pub html: String,
}

impl Mail {
    pub(super) fn read(from: &str, to: &[String], raw: &[u8]) -> Self {
        let mail = MessageParser::default().parse(raw).expect("a mail");
        let reply = match mail.in_reply_to() {
            HeaderValue::Text(id) => Some(id.to_string()),
            _ => None,
        };
        Self {
            from: from.to_owned(),
            to: to.to_vec(),
            raw: String::from_utf8(raw.to_vec()).expect("a mail of ASCII"),
            subject: mail.subject().unwrap_or_default().to_owned(),
            message_id: mail.message_id().expect("every mail has an id").to_owned(),
            in_reply_to: reply,
            text: mail.body_text(0).expect("plain text").into_owned(),
            html: mail.body_html(0).expect("HTML").into_owned(),
        }
    }

    /// The values of a header, as they are on the wire, each unfolded.
    pub fn headers(&self, name: &str) -> Vec<String> {
        let (head, _) = self.raw.split_once("\r\n\r\n").expect("a head and a body");
        let unfolded = head.replace("\r\n ", " ").replace("\r\n\t", " ");
        let own = |line: &str| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        };
        unfolded.split("\r\n").filter_map(own).collect()
    }

    /// The addresses that its HTML leads to.
    pub fn links(&self) -> Vec<String> {
        let hrefs = self.html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        hrefs.map(|href| href.replace("&amp;", "&").replace("&#38;", "&")).collect()
    }
}
