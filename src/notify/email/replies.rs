//! The replies of a mail server, spelled as every reader of them expects.
//!
//! A mail that was taken must not be sent again, nor one that nobody will ever take, because of how the server words that. The
//! digits that a reply begins with are what it says (RFC 5321, section 4.2); what follows them is brought into shape.

use std::{
    collections::VecDeque,
    fmt, io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, ready},
};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Of a longer line the rest is dropped, as RFC 5321 allows no longer one…
const LONGEST: usize = 512;
/// …and of a reply of more lines those between the first ones and the last.
const MOST: usize = 64;

/// A stream from a mail server.
pub struct Replies<S> {
    stream: S,
    peer: SocketAddr,
    lines: Lines,
    ended: bool,
}

impl<S> Replies<S> {
    pub fn of(stream: S, peer: SocketAddr) -> Self {
        Self {
            stream,
            peer,
            lines: Lines::default(),
            ended: false,
        }
    }

    /// What is read first, before anything of the server's.
    pub fn after(mut self, line: &str) -> Self {
        self.lines.spelled.extend(line.bytes());
        self
    }

    /// The stream itself; what was read of it and not taken is dropped.
    pub fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Replies<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.lines.spelled.is_empty() && !this.ended {
            let mut space = [0; 1024];
            let mut said = ReadBuf::new(&mut space);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut said))?;
            for byte in said.filled() {
                this.lines.take(*byte);
            }
            if said.filled().is_empty() {
                this.ended = true;
                this.lines.end();
            }
        }
        let (spelled, _) = this.lines.spelled.as_slices();
        let length = spelled.len().min(into.remaining());
        into.put_slice(&spelled[..length]);
        this.lines.spelled.drain(..length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Replies<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin> AsyncTokioStream for Replies<S> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }
}

impl<S> fmt::Debug for Replies<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Replies({})", self.peer)
    }
}

/// What is made of the bytes.
#[derive(Default)]
struct Lines {
    /// The beginning of the line that is being said.
    line: Vec<u8>,
    /// Of the reply that is being said: its digits, and how many lines there were before its last.
    reply: Option<([u8; 3], usize)>,
    spelled: VecDeque<u8>,
}

impl Lines {
    fn take(&mut self, byte: u8) {
        match byte {
            b'\n' => self.spell(),
            _ if self.line.len() < LONGEST => self.line.push(byte),
            _ => {}
        }
    }

    /// Nothing more comes. A reply that has begun is over.
    fn end(&mut self) {
        if !self.line.is_empty() {
            self.spell();
        }
        if let Some((digits, _)) = self.reply.take() {
            self.say(digits, ' ', "");
        }
    }

    fn spell(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        // What is no UTF-8 is longer now.
        let text = text[..text.floor_char_boundary(LONGEST)].trim_end_matches('\r');
        let found = digits(text);
        let Some(digits) = self.reply.map(|(digits, _)| digits).or(found) else {
            // No reply at all, as whoever reads it will find out.
            self.spelled.extend(text.bytes().chain(*b"\r\n"));
            return;
        };
        let text = if found.is_some() { &text[3..] } else { text };
        let is_last = match self.reply {
            None => !text.starts_with('-'),
            Some(_) => text.is_empty() || text.starts_with(' '),
        };
        if found.is_some() && is_last {
            self.reply = None;
            return self.say(digits, ' ', text.strip_prefix(' ').unwrap_or(text));
        }
        let lines = self.reply.map_or(1, |(_, lines)| lines + 1);
        self.reply = Some((digits, lines));
        if lines <= MOST {
            self.say(digits, '-', text.strip_prefix('-').unwrap_or(text));
        }
    }

    /// With a word in any case: the answer to EHLO is read for one.
    fn say(&mut self, digits: [u8; 3], then: char, text: &str) {
        let text = if text.trim().is_empty() { "(no text)" } else { text };
        self.spelled.extend(digits);
        self.spelled.extend(format!("{then}{text}\r\n").bytes());
    }
}

/// The digits that a line of a reply begins with. A group that is not known counts as the first one: the first digit says
/// whether it is a yes.
fn digits(line: &str) -> Option<[u8; 3]> {
    let &[kind @ b'2'..=b'5', group, detail, ..] = line.as_bytes() else {
        return None;
    };
    let are_digits = group.is_ascii_digit() && detail.is_ascii_digit();
    are_digits.then_some([kind, if group > b'5' { b'0' } else { group }, detail])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(said: &[u8]) -> String {
        let mut lines = Lines::default();
        for byte in said {
            lines.take(*byte);
        }
        lines.end();
        String::from_utf8(lines.spelled.into()).unwrap()
    }

    #[test]
    fn what_is_well_spelled_stays() {
        for said in
            ["250 OK\r\n", "250-one\r\n250 two\r\n", "220 ready\r\n250 2.0.0 Ok: queued as 3F\r\n", ""]
        {
            assert_eq!(spelled(said.as_bytes()), said);
        }
    }

    #[test]
    fn the_digits_are_what_is_said() {
        for (said, meant) in [
            (&b"250\r\n"[..], "250 (no text)\r\n"),
            (b"250\n", "250 (no text)\r\n"),
            (b"250", "250 (no text)\r\n"),
            (b"250 OK\n", "250 OK\r\n"),
            (b"250OK\r\n", "250 OK\r\n"),
            (b"250 Angenommen f\xfcr\r\n", "250 Angenommen f\u{fffd}r\r\n"),
            (b"550 5.1.1 Empf\xe4nger unbekannt\r\n", "550 5.1.1 Empf\u{fffd}nger unbekannt\r\n"),
            (b"250-one\r\n", "250-one\r\n250 (no text)\r\n"),
            (
                b"250-one\r\ntwo\r\n2500 three\r\n250 four\r\n",
                "250-one\r\n250-two\r\n250-0 three\r\n250 four\r\n",
            ),
            (b"250-one\r\n550 two\r\n", "250-one\r\n250 two\r\n"),
            (b"290 OK\r\n", "200 OK\r\n"),
        ] {
            assert_eq!(spelled(said), meant);
        }
    }

    #[test]
    fn what_is_no_reply_stays_none() {
        for said in ["OK\r\n", "25\r\n", "999 what\r\n", "HTTP/1.1 400 Bad Request\r\n", "2\u{e4} \r\n"] {
            assert_eq!(spelled(said.as_bytes()), said);
        }
    }

    #[test]
    fn endless_replies_have_an_end() {
        for letter in [b"x", b"\xfc"] {
            let line = [b"250 ".to_vec(), letter.repeat(1 << 20)].concat();
            let length = spelled(&line).len();
            assert!((LONGEST - 2..=LONGEST + 2).contains(&length), "{length}");
        }
        let reply = ["250-more\r\n".repeat(1 << 16).as_str(), "250 done\r\n"].concat();
        let spelled = spelled(reply.as_bytes());
        assert_eq!(spelled.lines().count(), MOST + 1);
        assert!(spelled.ends_with("250 done\r\n"));
    }
}
