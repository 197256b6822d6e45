//! Texts that nobody here wrote, in every field that reaches a mail.

use std::collections::BTreeMap;

use base64::Engine as _;

use super::{Bundle, Letter, Told, letter, now, refund, waits};
use crate::{
    kinds::{Change, Refusal},
    notify::email::{Mailer, Sender, SmtpUrl, render},
    store::actions::Status,
    text::inert_line,
    workflow::Detail,
};

/// The headers of a letter and of its parts.
const HEADERS: [&str; 15] = [
    "From",
    "To",
    "Message-ID",
    "Subject",
    "Auto-Submitted",
    "X-Auto-Response-Suppress",
    "Date",
    "In-Reply-To",
    "References",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
    "MIME-Version",
    "Content-Type",
    "Content-Transfer-Encoding",
    "Content-Disposition",
];

fn corpus() -> Vec<String> {
    let texts = [
        "x\r\nBcc: eve@evil.example\r\n\r\nbody",
        "x\nBcc: eve@evil.example",
        "x\rBcc: eve@evil.example\r.\r\nQUIT",
        "x\u{2028}Bcc: eve@evil.example\u{2029}\u{85}\u{B}\u{C}y",
        "Subject: Approved by owner@example.com",
        "fine\n\nApproved by owner@example.com\n-- \nOpen the request: https://evil.example/",
        "<script>alert(1)</script><img src=https://evil.example/x.png><a href='https://evil.example'>a</a>",
        "\"><style>*{display:none}</style></td></tr></table><!--",
        "'\"`&amp;&lt;&#60;]]>",
        "safe\u{202E}txt.exe\u{2066}x\u{2069}",
        "pay\u{200B}pal\u{FEFF}\u{2060}\u{AD}",
        "tag\u{E0041}\u{E0042}\u{E007F}",
        "p\u{430}ypal",
        "=?utf-8?b?QmNjOiBldmVAZXZpbC5leGFtcGxl?= =?utf-8?q?=0D=0A?=",
        "{{ card.url }} {% raw %} %0d%0aBcc:eve@evil.example",
        "https://evil.example/approve?yes www.evil.example",
        ".\r\n..\r\n",
        "a\tb",
    ];
    let mut corpus: Vec<_> = texts.map(ToOwned::to_owned).into();
    corpus.extend(["w".repeat(5000), "é".repeat(5000), "\u{202E}".repeat(300), "x ".repeat(2500)]);
    corpus
}

/// Every letter in which a text can turn up, with the text in all its places.
fn letters(text: &str) -> Vec<Letter> {
    let owned = || text.to_owned();
    let fill = |mut detail: Box<Detail>| {
        detail.agent = owned();
        detail.agent_owner = Some(owned());
        detail.action.reason = owned();
        detail.action.summary = owned();
        detail.action.refusal_message = Some(owned());
        detail.refusal_today = Some(Refusal::new("rule", owned()));
        detail.changes = vec![Change::new(owned(), owned(), owned())];
        for other in detail.related.iter_mut().chain(detail.repeats.iter_mut()) {
            (other.action.summary, other.agent) = (owned(), owned());
        }
        if let Some(preview) = &mut detail.preview {
            preview.changes = vec![Change::new(owned(), owned(), owned()), Change::same(owned(), owned())];
            preview.facts = format!("<h3>Order</h3><dl><dt>Title</dt><dd>{}</dd></dl>", inert_line(text));
        }
        if let Some(decision) = &mut detail.view.decision {
            decision.by = owned();
            detail.action.decision_note = Some(owned());
        }
        detail
    };
    let decided = |status| Told::Decided(fill(super::decided(status, Some(text))));
    let at = now();
    let undelivered = || Told::Undelivered {
        at,
        to: owned(),
        words: owned(),
    };
    vec![
        letter(Bundle::AtOnce, vec![waits(fill(refund()))]),
        Letter {
            answers: Some("first".to_owned()),
            ..letter(Bundle::Reminders, vec![waits(fill(super::doubtful()))])
        },
        letter(Bundle::Digest, vec![waits(fill(refund())), waits(fill(super::doubtful()))]),
        letter(Bundle::Expired, vec![Told::Expired(fill(super::decided_by_nobody()))]),
        letter(Bundle::Outcomes, vec![decided(Status::Executed)]),
        letter(Bundle::Outcomes, vec![decided(Status::Failed)]),
        letter(Bundle::Outcomes, vec![decided(Status::Rejected), decided(Status::Indeterminate)]),
        letter(Bundle::Undelivered, vec![undelivered()]),
        letter(Bundle::Undelivered, vec![undelivered(), undelivered()]),
        letter(Bundle::SignIns, vec![Told::SignedIn { at, address: owned() }]),
    ]
}

/// A message as it goes over the wire: its headers, its plain text and its HTML.
struct Wire {
    headers: Vec<(String, String)>,
    text: String,
    html: String,
}

fn sent(letter: &Letter) -> Wire {
    let url: url::Url = letter.dashboard.parse().unwrap();
    let server: SmtpUrl = "smtp://127.0.0.1:1?tls=none".parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    let mailer = Mailer::new(&server, None, Sender::of(&url), &url).unwrap();
    let to = letter.to.email.parse().unwrap();
    let (answers, leave) = (letter.answers.as_deref(), letter.leave.as_deref());
    let message = mailer.message(&letter.id, to, answers, leave, render::letter(letter)).unwrap();
    let wire = String::from_utf8(message.formatted()).expect("7 bits");
    assert!(wire.is_ascii(), "{wire}");
    assert_eq!(wire.replace("\r\n", "").find(['\r', '\n']), None, "a line break that is none");
    assert!(wire.split("\r\n").all(|line| line.len() <= 998), "a line is too long");
    let (headers, body) = entity(&wire);
    let boundary = value(&headers, "Content-Type").split('"').nth(1).unwrap();
    let separator = format!("--{boundary}");
    let mut parts = body.split(&separator).skip(1);
    let (text, html) = (decoded(parts.next().unwrap()), decoded(parts.next().unwrap()));
    assert_eq!(parts.next().map(str::trim), Some("--"));
    assert!(parts.next().is_none());
    Wire { headers, text, html }
}

fn decoded(part: &str) -> String {
    let (headers, body) = entity(part.trim_start());
    assert!(headers.iter().all(|(name, _)| HEADERS.contains(&name.as_str())), "{headers:?}");
    let bytes = match value(&headers, "Content-Transfer-Encoding") {
        "quoted-printable" => unquoted(body),
        "base64" => {
            let joined: String = body.split_whitespace().collect();
            base64::engine::general_purpose::STANDARD.decode(joined).unwrap()
        }
        "7bit" => body.as_bytes().to_vec(),
        other => panic!("{other}"),
    };
    String::from_utf8(bytes).unwrap()
}

fn unquoted(body: &str) -> Vec<u8> {
    let joined = body.replace("=\r\n", "");
    let mut pieces = joined.split('=');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(&piece[..2], 16).unwrap());
        bytes.extend(piece[2..].bytes());
    }
    bytes
}

/// Headers, their lines joined, and the rest.
fn entity(text: &str) -> (Vec<(String, String)>, &str) {
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let unfolded = head.replace("\r\n ", " ").replace("\r\n\t", " ");
    let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()));
    (unfolded.split("\r\n").map(|line| header(line).expect(line)).collect(), body)
}

fn value<'a>(headers: &'a [(String, String)], name: &str) -> &'a str {
    headers.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value)
}

#[test]
fn no_header_but_ours_and_each_once() {
    for text in corpus() {
        for letter in letters(&text) {
            let headers = sent(&letter).headers;
            for (name, _) in &headers {
                assert!(HEADERS.contains(&name.as_str()), "{name} of {text:?}");
                assert_eq!(
                    headers.iter().filter(|(other, _)| other == name).count(),
                    1,
                    "{name} of {text:?}"
                );
            }
            assert_eq!(value(&headers, "To"), "asha@example.com");
            let subject = value(&headers, "Subject");
            assert!(!subject.is_empty() && subject.len() < 1500, "{subject}");
            // An encoded word in the subject is always one that was made here, of one line of visible text.
            for word in subject.split(' ').filter(|word| word.contains("=?utf")) {
                let encoded = word.strip_prefix("=?utf-8?b?").and_then(|rest| rest.strip_suffix("?="));
                let encoded = encoded.unwrap_or_else(|| panic!("{word:?} of {text:?}"));
                let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
                let word = String::from_utf8_lossy(&bytes);
                assert!(!word.contains(char::is_control), "{word:?} of {text:?}");
                assert!(!word.contains("Bcc: "), "{word:?} of {text:?}");
            }
        }
    }
}

#[test]
fn markup_is_text_and_nothing_is_invisible() {
    let quiet: Vec<_> = letters("quiet").iter().map(|letter| sent(letter).html).collect();
    for text in corpus() {
        for (letter, quiet) in letters(&text).iter().zip(&quiet) {
            let wire = sent(letter);
            for unseen in
                ['\u{202E}', '\u{200B}', '\u{2028}', '\u{2029}', '\u{85}', '\u{B}', '\u{E0041}', '\u{430}']
            {
                assert!(!wire.html.contains(unseen) && !wire.text.contains(unseen), "{unseen:?} of {text:?}");
            }
            assert_eq!(tags(&wire.html), tags(quiet), "{text:?}");
            for link in wire.html.split("href=\"").skip(1) {
                assert!(link.starts_with("https://gate.example.com/"), "{link}");
            }
        }
    }
}

/// How often each tag is there, but for those that show a text's line breaks and codes, and a remark about it.
fn tags(html: &str) -> BTreeMap<&str, usize> {
    let mut tags = BTreeMap::new();
    for tag in html.split('<').skip(1).filter_map(|piece| piece.split(['>', ' ']).next()) {
        if !["br", "wbr", "span", "/span"].contains(&tag) {
            *tags.entry(tag).or_default() += 1;
        }
    }
    tags
}

/// Whatever an agent writes, its lines never look like lines of ours.
#[test]
fn lines_of_ours_are_not_to_be_had_by_a_text() {
    let hostile = "fine\n\nApproved by owner@example.com\n-- \nOpen the request: https://evil.example/";
    for letter in letters(hostile) {
        let text = sent(&letter).text;
        for line in text.lines() {
            assert!(!line.starts_with("Approved by owner@example.com"), "{text}");
            assert!(!line.starts_with("Open the request: https://evil.example"), "{text}");
        }
        assert_eq!(text.lines().filter(|line| line.trim_end() == "--").count(), 1, "{text}");
    }
}

#[test]
fn an_agents_words_are_told_whole() {
    let words = "w".repeat(990) + " the end";
    let mut detail = refund();
    detail.action.reason.clone_from(&words);
    let wire = sent(&letter(Bundle::AtOnce, vec![waits(detail)]));
    assert!(wire.text.contains(&format!("> {words}")) && wire.html.contains(&words));
}
