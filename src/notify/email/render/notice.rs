//! What a letter tells that is about no action.

use super::{
    super::super::{Letter, Told},
    reader::moment_in_zone,
};
use crate::{store::people::Role, text};

/// Something that happened, in the order in which it is read.
pub struct Notice {
    pub facts: Vec<(&'static str, String)>,
    /// What somebody else said.
    pub words: Option<(&'static str, String)>,
    pub sentences: Vec<&'static str>,
    /// What to type, after the sentences.
    pub command: Option<String>,
    /// Where to go on: what it is called, and its address.
    pub link: Option<(&'static str, String)>,
}

const IF_NOT_YOU: &str =
    "If not, run this at the server: it ends every sign-in, and makes a new password and API token.";
const TELL_AN_OWNER: &str = "If not, tell an owner at once. Whoever runs the server can end every sign-in, and make \
                             a new password and API token:";

/// Everything that is about no action. What is said of all of them is said once, after the last.
pub fn all(letter: &Letter) -> Vec<Notice> {
    let mut notices: Vec<_> = letter.told.iter().filter_map(|told| notice(told, letter)).collect();
    if let (Some(last), Some(told)) = (notices.last_mut(), letter.told.last()) {
        conclude(last, told, letter);
    }
    notices
}

fn notice(told: &Told, letter: &Letter) -> Option<Notice> {
    let when = |at| moment_in_zone(at, letter);
    let (facts, words) = match told {
        Told::Waits { .. } | Told::Expired(_) | Told::Decided(_) => return None,
        Told::Undelivered { at, to, words } => (
            vec![("To", to.clone()), ("Given up", when(*at))],
            Some(("What went wrong", words.clone())).filter(|(_, words)| !words.is_empty()),
        ),
        Told::SignedIn { at, address } => {
            let from = if address.is_empty() { "an unknown address" } else { address };
            let facts =
                vec![("Account", letter.to.email.clone()), ("When", when(*at)), ("From", from.to_owned())];
            (facts, None)
        }
        Told::PasswordChanged { at } => {
            (vec![("Account", letter.to.email.clone()), ("When", when(*at))], None)
        }
    };
    Some(Notice {
        facts,
        words,
        sentences: Vec::new(),
        command: None,
        link: None,
    })
}

/// What to type at the server.
fn reset(letter: &Letter) -> String {
    format!("countersign person reset-password --email {}", text::shell_word(&letter.to.email))
}

/// Says what to do now.
fn conclude(notice: &mut Notice, told: &Told, letter: &Letter) {
    let is_owner = letter.to.role == Role::Owner;
    match told {
        Told::Waits { .. } | Told::Expired(_) | Told::Decided(_) => {}
        Told::Undelivered { .. } => {
            notice.sentences = vec!["It is not tried any more. The deliveries page can have it tried again."];
            notice.link = Some(("Open the deliveries", format!("{}/deliveries", letter.dashboard)));
        }
        Told::SignedIn { .. } => {
            notice.sentences = vec![
                "Nobody had signed in to your account from there before. If it was you, there is nothing to do.",
                if is_owner { IF_NOT_YOU } else { TELL_AN_OWNER },
            ];
            notice.command = Some(reset(letter));
        }
        Told::PasswordChanged { .. } => {
            notice.sentences = vec![
                "Every sign-in was ended, and the API token was replaced. If you expected this, there is nothing to do.",
                if is_owner { IF_NOT_YOU } else { TELL_AN_OWNER },
            ];
            notice.command = Some(reset(letter));
        }
    }
}
