//! What people write beside a decision.

use crate::{
    error::{Denial, Result},
    text,
};

/// The longest note or reason, in characters.
pub const MAX_CHARS: usize = 1000;

/// A note that may be left out.
pub(super) fn optional(field: &str, text: Option<&str>) -> Result<Option<String>> {
    let text = text.map(str::trim).filter(|text| !text::is_blank(text));
    text.map(|text| checked(field, text)).transpose()
}

/// A text that must say something.
pub(super) fn required(field: &str, text: &str) -> Result<String> {
    if text::is_blank(text) {
        return Err(Denial::invalid(
            field,
            format!("The {field} is missing. Write one: the agent will read it."),
        )
        .into());
    }
    checked(field, text.trim())
}

fn checked(field: &str, text: &str) -> Result<String> {
    // A form sends each line break as two characters, which its page counts as one.
    let text = text.replace("\r\n", "\n");
    if text.chars().count() > MAX_CHARS {
        return Err(
            Denial::invalid(field, format!("The {field} must have at most {MAX_CHARS} characters.")).into()
        );
    }
    if text.contains('\0') {
        return Err(
            Denial::invalid(field, format!("The {field} contains a NUL character; leave it out.")).into()
        );
    }
    Ok(text)
}
