//! What people and agents may be called: nothing that can't be seen, and nothing that reads as something else.

use email_address::{EmailAddress, Options};

use crate::{error::Denial, text::unseen};

/// How many characters an agent's name has at most.
const LONGEST: usize = 64;

/// An agent's name, without white space around it.
pub(super) fn of_agent(name: &str) -> Result<String, Denial> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > LONGEST {
        return Err(Denial::invalid("name", format!("A name has 1 to {LONGEST} characters.")));
    }
    visible("name", "A name", name)?;
    Ok(name.to_owned())
}

/// A person's e-mail address (RFC 5322, 6531) as it is stored.
pub(super) fn of_person(email: &str) -> Result<String, Denial> {
    let email = fold_email(email);
    visible("email", "An e-mail address", &email)?;
    let options = Options::default().without_display_text().without_domain_literal();
    let sound = EmailAddress::parse_with_options(&email, options).is_ok() && !email.contains(['"', ' ']);
    if sound {
        Ok(email)
    } else {
        Err(Denial::invalid("email", "That is not an e-mail address."))
    }
}

/// E-mail addresses are compared in lower case, without white space around them.
pub fn fold_email(email: &str) -> String {
    email.trim().to_lowercase()
}

fn visible(field: &str, what: &str, text: &str) -> Result<(), Denial> {
    let Some(c) = unseen(text) else { return Ok(()) };
    let code = u32::from(c);
    Err(Denial::invalid(
        field,
        format!("{what} has visible characters only; U+{code:04X} is none."),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_is_seen() {
        for good in ["support-agent", "Björn's helper", "注文係", "  trimmed  ", "помощник"] {
            assert_eq!(of_agent(good).as_deref(), Ok(good.trim()), "{good}");
        }
        for (bad, code) in [
            ("a\u{202E}b", "U+202E"),
            ("a\u{2066}b", "U+2066"),
            ("a\u{200B}b", "U+200B"),
            ("a\u{AD}b", "U+00AD"),
            ("a\u{3164}b", "U+3164"),
            ("a\u{1b}[31mb", "U+001B"),
            ("a\nb", "U+000A"),
            ("a\tb", "U+0009"),
            ("a\u{85}b", "U+0085"),
        ] {
            let denial = of_agent(bad).expect_err(code);
            assert!(denial.message.contains(code), "{bad:?}: {}", denial.message);
            assert!(of_person(&format!("{bad}@example.com")).is_err(), "{bad:?}");
        }
        assert!(of_agent(" ").is_err() && of_agent(&"x".repeat(65)).is_err());
    }

    #[test]
    fn an_address_is_one_that_mail_can_go_to() {
        for good in ["ana@example.com", "Ana.Maria+x@Sub.Example.com", "o'neill@example.ie", "jörg@müller.de"]
        {
            assert_eq!(of_person(good).as_deref(), Ok(good.to_lowercase().as_str()), "{good}");
        }
        for bad in [
            "",
            "ana",
            "@example.com",
            "ana@",
            "ana@@example.com",
            "ana@b@example.com",
            "ana maria@example.com",
            "\"ana maria\"@example.com",
            "ana..maria@example.com",
            ".ana@example.com",
            "ana@-example.com",
            "ana@example..com",
            "ana@[127.0.0.1]",
            "Ana <ana@example.com>",
            "ana@example.com,bo@example.com",
        ] {
            assert!(of_person(bad).is_err(), "{bad:?}");
        }
    }
}
