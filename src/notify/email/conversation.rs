//! One conversation with the mail server, for one mail: what is left of it is never taken for an answer in the next.
//!
//! What the server says to the mail is its answer. Nothing that comes after counts, not even whether it ever answers a goodbye.

use std::{error::Error as StdError, time::Duration};

use lettre::{
    Message,
    transport::smtp::{
        self,
        authentication::{Credentials, DEFAULT_MECHANISMS},
        client::{AsyncSmtpConnection, AsyncTokioStream},
        commands::{Data, Mail, Rcpt},
        extension::{ClientId, Extension, MailBodyParameter, MailParameter},
        response::{Response, Severity},
    },
};

use super::super::Failure;
use crate::text;

/// How long it may take to answer a goodbye.
const GOODBYE: Duration = Duration::from_secs(5);
/// What a reply says of itself when trying again would come to the same (RFC 3463): there is no such mailbox or system, the
/// address is malformed, the mailbox has moved or is disabled, the domain takes no mail (RFC 7505), the mail is too large. Any
/// other refusal may be about the sender, the relay or the day.
const LASTING: [&str; 7] = ["5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1", "5.3.4"];

/// A conversation that has begun.
pub struct Conversation(AsyncSmtpConnection);

impl Conversation {
    /// Begins one on a line to the server, and signs in where that is set up.
    pub async fn begin(
        line: Box<dyn AsyncTokioStream>,
        name: &ClientId,
        account: Option<&Credentials>,
    ) -> Result<Self, Failure> {
        let passing = |error: smtp::Error| Failure::passing(words(&error));
        let mut server = AsyncSmtpConnection::connect_with_transport(line, name).await.map_err(passing)?;
        if let Some(account) = account {
            let signed_in = server.auth(DEFAULT_MECHANISMS, account).await;
            signed_in.map_err(|error| Failure::passing(not_signed_in(&error)))?;
        }
        Ok(Self(server))
    }

    /// Hands over a mail.
    ///
    /// # Errors
    /// In the server's words.
    pub async fn hand_over(&mut self, mail: &Message) -> Result<(), Failure> {
        let (envelope, text) = (mail.envelope(), mail.formatted());
        let mut addresses = envelope.from().into_iter().chain(envelope.to());
        let is_foreign = addresses.any(|address| !AsRef::<str>::as_ref(address).is_ascii());
        let options = self.options(is_foreign, text.is_ascii())?;
        let server = &mut self.0;
        // Command by command: `send` would say goodbye to a refusal, and wait for the answer, before it tells of it.
        let begun = server.command(Mail::new(envelope.from().cloned(), options)).await;
        expected(Severity::PositiveCompletion, begun)?;
        for to in envelope.to() {
            let known = server.command(Rcpt::new(to.clone(), Vec::new())).await;
            expected(Severity::PositiveCompletion, known)?;
        }
        expected(Severity::PositiveIntermediate, server.command(Data).await)?;
        expected(Severity::PositiveCompletion, server.message(&text).await)
    }

    /// Says goodbye, and waits a moment for the answer.
    pub async fn leave(mut self) {
        // It makes no difference whether there is one.
        let _ = tokio::time::timeout(GOODBYE, self.0.abort()).await;
    }

    /// What has to be said of a mail that is not of ASCII alone.
    fn options(&self, is_foreign: bool, is_ascii: bool) -> Result<Vec<MailParameter>, Failure> {
        let needed = [
            (is_foreign, Extension::SmtpUtfEight, MailParameter::SmtpUtfEight),
            (!is_ascii, Extension::EightBitMime, MailParameter::Body(MailBodyParameter::EightBitMime)),
        ];
        let mut options = Vec::new();
        for (_, extension, option) in needed.into_iter().filter(|(is_needed, ..)| *is_needed) {
            if !self.0.server_info().supports_feature(extension) {
                let words = format!("The mail server does not know {extension}, which this address needs.");
                return Err(Failure::passing(words));
            }
            options.push(option);
        }
        Ok(options)
    }
}

/// A yes of another sort is no answer to what was said: the conversation is out of step.
fn expected(yes: Severity, answer: Result<Response, smtp::Error>) -> Result<(), Failure> {
    let answer = answer.map_err(refused)?;
    if answer.code().severity == yes {
        return Ok(());
    }
    let said = answer.message().collect::<Vec<_>>().join(" ");
    let words = format!("The mail server answered out of turn: {} {said}", answer.code());
    Err(Failure::passing(text::plain(&words)))
}

/// Without what the server says: some repeat what was sent, and that is the password.
fn not_signed_in(error: &smtp::Error) -> String {
    match error.status() {
        Some(code) => format!("The mail server does not take this user and password ({code})."),
        None if error.is_response() => {
            "The mail server's answer to user and password is no reply of SMTP.".to_owned()
        }
        None => words(error),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn refused(error: smtp::Error) -> Failure {
    let reply = error.source().map(ToString::to_string).unwrap_or_default();
    Failure {
        words: words(&error),
        lasting: error.is_permanent() && is_about_the_mail(&reply),
    }
}

/// By the code that a reply begins with, where it has one.
fn is_about_the_mail(reply: &str) -> bool {
    reply.split_whitespace().next().is_some_and(|code| LASTING.contains(&code))
}

/// The whole story of an error, the server's reply included, in one line and without anything invisible: it is stored, and shown
/// in a terminal.
pub fn words(error: &(dyn StdError + 'static)) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_words = cause.to_string();
        if !words.contains(&cause_words) {
            words = format!("{words}: {cause_words}");
        }
        source = cause.source();
    }
    text::plain(&words.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_lasting_when_it_begins_by_saying_that_it_is_about_the_mail() {
        for lasting in ["5.1.1 No such mailbox", "5.1.10", "5.2.1 Disabled", "5.3.4 Too large\n5.3.4 by far"]
        {
            assert!(is_about_the_mail(lasting), "{lasting}");
        }
        for passing in [
            "",
            "Not from you",
            "5.1.0 Address rejected",
            "5.1.7 Bad sender's mailbox",
            "5.1.8 Access denied, bad outbound sender",
            "5.1.11",
            "5.7.1 Client host 5.1.1.7 blocked, see 5.1.1",
            "Client host 5.1.1 blocked",
        ] {
            assert!(!is_about_the_mail(passing), "{passing}");
        }
    }
}
