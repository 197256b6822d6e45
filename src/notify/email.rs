//! E-mail: letters as messages of plain text and HTML, handed to an SMTP server.

mod conversation;
mod render;
mod replies;
mod server;
mod tls;
mod way;

use std::{future::Future, pin::Pin, time::Duration};

use lettre::{
    Message,
    message::{
        Mailbox, MultiPart,
        header::{HeaderName, HeaderValue},
    },
};
use url::Url;

use self::{render::Rendered, way::Way};
pub use self::{server::SmtpUrl, tls::Authority};
use super::{Channel, Failure, Letter};
use crate::error::{Error, Result};

/// The channel's name in the outbox.
pub const NAME: &str = "email";

/// How long somebody at the command line waits for it.
const LOOK: Duration = Duration::from_secs(30);

/// Who a message is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender(Mailbox);

impl std::str::FromStr for Sender {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let sentence = "must be an e-mail address, such as Countersign <gate@example.com>";
        text.parse().map(Self).map_err(|_| sentence.to_owned())
    }
}

impl std::fmt::Display for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Sender {
    /// The sender when none is set: at the host of the public address.
    pub fn of(public_url: &Url) -> Self {
        let domain = public_url.domain().unwrap_or("localhost");
        let address = lettre::Address::new("countersign", domain);
        let fallback = || lettre::Address::new("countersign", "localhost").expect("a plain address");
        Self(Mailbox::new(Some("Countersign".to_owned()), address.unwrap_or_else(|_| fallback())))
    }
}

/// Hands letters to an SMTP server.
pub struct Mailer {
    way: Way,
    sender: Sender,
    /// The right side of message ids.
    host: String,
}

impl Mailer {
    /// A mailer through `server`, for which the usual authorities vouch, or `authority`.
    ///
    /// # Errors
    /// `Internal` when TLS can't be set up.
    pub fn new(
        server: &SmtpUrl,
        authority: Option<&Authority>,
        sender: Sender,
        public_url: &Url,
    ) -> Result<Self> {
        Ok(Self {
            way: server.way(authority)?,
            sender,
            host: public_url
                .host_str()
                .filter(|host| !host.starts_with('['))
                .unwrap_or("localhost")
                .to_owned(),
        })
    }

    /// Connects, and signs in where that is set up.
    ///
    /// # Errors
    /// `Setup` in the server's words.
    pub async fn look(&self) -> Result<()> {
        match tokio::time::timeout(LOOK, self.way.open()).await {
            Err(_) => Err(silent()),
            Ok(Ok(conversation)) => {
                conversation.leave().await;
                Ok(())
            }
            Ok(Err(failure)) => {
                Err(Error::Setup(format!("The mail server can't be used: {}.", failure.words)))
            }
        }
    }

    /// Sends a mail that says that mails arrive.
    ///
    /// # Errors
    /// `Setup` for an address that is none, and in the server's words.
    pub async fn send_test(&self, to: &str, id: &str) -> Result<()> {
        let address = to.parse().map_err(|_| Error::Setup(format!("{to:?} is not an e-mail address.")))?;
        let message = self.message(id, address, None, None, render::test())?;
        match tokio::time::timeout(LOOK, self.hand_over(&message)).await {
            Err(_) => Err(silent()),
            Ok(Ok(())) => Ok(()),
            Ok(Err(failure)) => {
                Err(Error::Setup(format!("The mail server refused the test mail: {}.", failure.words)))
            }
        }
    }

    async fn hand_over(&self, message: &Message) -> std::result::Result<(), Failure> {
        let mut conversation = self.way.open().await?;
        let answer = conversation.hand_over(message).await;
        // Whether or when the server answers that is nothing to wait for.
        tokio::spawn(conversation.leave());
        answer
    }

    fn message(
        &self,
        id: &str,
        to: lettre::Address,
        answers: Option<&str>,
        leave: Option<&str>,
        rendered: Rendered,
    ) -> Result<Message> {
        let mut builder = Message::builder()
            .from(self.sender.0.clone())
            .to(Mailbox::new(None, to))
            .message_id(Some(self.message_id(id)))
            .subject(rendered.subject)
            .raw_header(raw("Auto-Submitted", "auto-generated"))
            .raw_header(raw("X-Auto-Response-Suppress", "All"))
            .date_now();
        if let Some(first) = answers {
            let first = self.message_id(first);
            builder = builder.in_reply_to(first.clone()).references(first);
        }
        if let Some(leave) = leave {
            // RFC 8058: the address alone is enough to leave, by one POST.
            builder = builder
                .raw_header(raw("List-Unsubscribe", &format!("<{leave}>")))
                .raw_header(raw("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"));
        }
        let body = MultiPart::alternative_plain_html(rendered.text, rendered.html);
        builder.multipart(body).map_err(Error::internal)
    }

    fn message_id(&self, id: &str) -> String {
        format!("<{id}@{}>", self.host)
    }
}

impl Channel for Mailer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn deliver<'a>(
        &'a self,
        letter: &'a Letter,
    ) -> Pin<Box<dyn Future<Output = std::result::Result<(), Failure>> + Send + 'a>> {
        Box::pin(async move {
            let to = letter.to.email.parse().map_err(|_| lasting("The address can't receive mail."))?;
            let (answers, leave) = (letter.answers.as_deref(), letter.leave.as_deref());
            let message = self.message(&letter.id, to, answers, leave, render::letter(letter));
            let message = message.map_err(|error| lasting(&error.into_denial().message))?;
            self.hand_over(&message).await
        })
    }
}

fn lasting(words: &str) -> Failure {
    Failure {
        words: words.to_owned(),
        lasting: true,
    }
}

fn silent() -> Error {
    Error::Setup(format!("The mail server did not answer within {} seconds.", LOOK.as_secs()))
}

/// A header whose value is ASCII of our own making.
fn raw(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}
