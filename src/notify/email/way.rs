//! The way to the mail server: finding it, and securing the line.

use std::{error::Error as StdError, io, net::SocketAddr, time::Duration};

use lettre::transport::smtp::{
    authentication::Credentials,
    client::AsyncTokioStream,
    commands::{Ehlo, Starttls},
    extension::{ClientId, Extension, ServerInfo},
    response::Response,
};
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufStream},
    net::{TcpStream, lookup_host},
};
use tokio_rustls::TlsConnector;

use super::{
    super::Failure,
    conversation::{Conversation, words},
    replies::Replies,
};

/// How long the server may take to take up the connection.
const CONNECT: Duration = Duration::from_secs(20);
/// What a line that became secure begins with for its reader: the server greets once, before.
const GREETED: &str = "220 \r\n";

/// The way to a mail server.
pub struct Way {
    pub host: String,
    pub port: u16,
    pub line: Line,
    pub account: Option<Credentials>,
}

/// How the line to it is secured.
pub enum Line {
    Open,
    StartTls(TlsConnector),
    /// From the first byte.
    Tls(TlsConnector),
}

impl Way {
    /// Connects, and signs in where that is set up.
    ///
    /// # Errors
    /// In the server's words; never lasting.
    pub async fn open(&self) -> Result<Conversation, Failure> {
        let name = ClientId::default();
        let (stream, peer) = self.connect().await?;
        let line: Box<dyn AsyncTokioStream> = match &self.line {
            Line::Open => Box::new(Replies::of(stream, peer)),
            Line::Tls(tls) => Box::new(Replies::of(self.secure(stream, tls).await?, peer)),
            Line::StartTls(tls) => {
                let stream = self.ask_for_tls(Replies::of(stream, peer), &name).await?;
                Box::new(Replies::of(self.secure(stream, tls).await?, peer).after(GREETED))
            }
        };
        Conversation::begin(line, &name, self.account.as_ref()).await
    }

    /// The first of its addresses that answers.
    async fn connect(&self) -> Result<(TcpStream, SocketAddr), Failure> {
        let unreachable =
            |error: &io::Error| Failure::passing(format!("{} can't be reached: {}", self.host, words(error)));
        let addresses = lookup_host((self.host.as_str(), self.port)).await;
        let mut failed = io::Error::other("it has no address");
        for address in addresses.map_err(|error| unreachable(&error))? {
            match tokio::time::timeout(CONNECT, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok((stream, address)),
                Ok(Err(error)) => failed = error,
                Err(elapsed) => failed = elapsed.into(),
            }
        }
        Err(unreachable(&failed))
    }

    async fn secure<S>(
        &self,
        stream: S,
        tls: &TlsConnector,
    ) -> Result<tokio_rustls::client::TlsStream<S>, Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let name = ServerName::try_from(self.host.clone());
        let name = name.map_err(|error| Failure::passing(words(&error)))?;
        let secured = tls.connect(name, stream).await;
        secured.map_err(|error| Failure::passing(self.insecure(&words(&error))))
    }

    /// Why there is no secure line, and what to do about it.
    fn insecure(&self, why: &str) -> String {
        let way_out = if why.contains("UnknownIssuer") {
            "; COUNTERSIGN_SMTP_CA may name a PEM file of the authority that issued it"
        } else if why.contains("InvalidContentType") {
            "; it may expect STARTTLS, which is smtp:// in SMTP_URL"
        } else {
            ""
        };
        format!("no secure line to {}: {why}{way_out}", self.host)
    }

    /// Has the server expect TLS next. What it said beyond its answer is dropped, as RFC 3207 has it.
    async fn ask_for_tls(&self, replies: Replies<TcpStream>, name: &ClientId) -> Result<TcpStream, Failure> {
        let mut line = BufStream::new(replies);
        let asked = async {
            heard(&mut line).await?;
            say(&mut line, &Ehlo::new(name.clone()).to_string()).await?;
            let offers = ServerInfo::from_response(&heard(&mut line).await?)?;
            if !offers.supports_feature(Extension::StartTls) {
                return Err(
                    "it does not offer STARTTLS; SMTP_URL may say smtps:// for TLS from the first byte, or \
                            ?tls=none for none at all"
                        .into(),
                );
            }
            say(&mut line, &Starttls.to_string()).await?;
            heard(&mut line).await.map(drop)
        };
        let asked: Result<(), Box<dyn StdError + Send + Sync>> = asked.await;
        asked.map_err(|error| Failure::passing(self.insecure(&words(error.as_ref()))))?;
        Ok(line.into_inner().into_inner())
    }
}

async fn say(line: &mut BufStream<Replies<TcpStream>>, command: &str) -> io::Result<()> {
    line.write_all(command.as_bytes()).await?;
    line.flush().await
}

/// The next reply, if it is a yes.
async fn heard(
    line: &mut BufStream<Replies<TcpStream>>,
) -> Result<Response, Box<dyn StdError + Send + Sync>> {
    let mut reply = String::new();
    loop {
        let begin = reply.len();
        if line.read_line(&mut reply).await? == 0 {
            return Err("it hung up".into());
        }
        // The last line of a reply has a space behind its digits.
        let line = &reply.as_bytes()[begin..];
        if !line[..3.min(line.len())].iter().all(u8::is_ascii_digit) || line.get(3) != Some(&b'-') {
            break;
        }
    }
    let Ok(response) = reply.parse::<Response>() else {
        return Err(format!("it said {reply:?}").into());
    };
    if response.is_positive() { Ok(response) } else { Err(reply.into()) }
}
