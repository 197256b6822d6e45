//! A letter in words: subject, plain text and HTML.

use super::super::Letter;

/// A message's contents.
pub struct Rendered {
    pub subject: String,
    pub text: String,
    pub html: String,
}

/// The letter's contents.
pub fn letter(letter: &Letter) -> Rendered {
    let line =
        |told: &super::super::Told| told.action().map_or(String::new(), |detail| detail.view.summary.clone());
    let text = letter.told.iter().map(line).collect::<Vec<_>>().join("\n");
    Rendered {
        subject: text.lines().next().unwrap_or_default().to_owned(),
        html: text.clone(),
        text,
    }
}

/// The test mail's contents.
pub fn test() -> Rendered {
    Rendered {
        subject: "Countersign can send mail".to_owned(),
        text: "This is a test.".to_owned(),
        html: "<p>This is a test.</p>".to_owned(),
    }
}
