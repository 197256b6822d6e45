//! JSON-RPC over standard input and output: one message a line.

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
    task::JoinHandle,
};

use super::{
    LARGEST_MESSAGE,
    strict::{INVALID_REQUEST, Refusal},
};

/// So many lines may wait for a client that is slow to read.
const WAITING: usize = 64;

/// The lines of an input, none longer than a message may be.
pub struct Lines<R> {
    input: BufReader<R>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of this input.
    pub fn new(input: R) -> Self {
        Self {
            input: BufReader::new(input),
        }
    }

    /// The next line that isn't empty, or why it is refused; nothing at the end of the input. A last line without its
    /// newline counts.
    pub async fn next(&mut self) -> std::io::Result<Option<Result<Vec<u8>, Refusal>>> {
        loop {
            let mut line = Vec::new();
            let mut too_long = false;
            let ended = loop {
                let read = self.input.fill_buf().await?;
                if read.is_empty() {
                    break true;
                }
                let newline = read.iter().position(|byte| *byte == b'\n');
                let part = newline.unwrap_or(read.len());
                too_long |= line.len() + part > LARGEST_MESSAGE;
                if !too_long {
                    line.extend_from_slice(&read[..part]);
                }
                self.input.consume(newline.map_or(part, |at| at + 1));
                if newline.is_some() {
                    break false;
                }
            };
            if too_long {
                return Ok(Some(Err(Refusal::new(None, INVALID_REQUEST, "The message is too large."))));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(Ok(line)));
            }
            if ended {
                return Ok(None);
            }
        }
    }
}

/// Where lines are written, whole, from any task.
#[derive(Clone)]
pub struct Out {
    lines: mpsc::Sender<Vec<u8>>,
}

impl Out {
    /// An output, and the task that writes to it: it ends with the last clone, or when the reader goes away.
    pub fn new(mut output: impl AsyncWrite + Unpin + Send + 'static) -> (Self, JoinHandle<()>) {
        let (lines, mut waiting) = mpsc::channel::<Vec<u8>>(WAITING);
        let writer = tokio::spawn(async move {
            while let Some(mut line) = waiting.recv().await {
                line.push(b'\n');
                let written = match output.write_all(&line).await {
                    Ok(()) => output.flush().await,
                    failed => failed,
                };
                if let Err(error) = written {
                    tracing::debug!(%error, "the client stopped reading");
                    return;
                }
            }
        });
        (Self { lines }, writer)
    }

    /// Hands over one message. A caller that is dropped in between has written the whole line or nothing.
    pub async fn line(&self, message: impl Into<Vec<u8>>) -> std::io::Result<()> {
        self.lines.send(message.into()).await.map_err(|_| std::io::ErrorKind::BrokenPipe.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8]) -> Vec<String> {
        let mut lines = Lines::new(input);
        let mut read = Vec::new();
        while let Some(line) = lines.next().await.expect("memory never fails") {
            read.push(match line {
                Ok(line) => String::from_utf8(line).expect("text"),
                Err(refusal) => refusal.message,
            });
        }
        read
    }

    #[tokio::test]
    async fn empty_lines_are_no_messages_and_the_last_needs_no_newline() {
        assert_eq!(lines(b"a\n\n \r\nb\r\nc").await, ["a", "b\r", "c"]);
        assert_eq!(lines(b"").await, [""; 0]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_refused_and_the_next_one_read() {
        let long = "x".repeat(LARGEST_MESSAGE + 1);
        assert_eq!(
            lines(format!("a\n{long}\nb\n{long}").as_bytes()).await,
            ["a", "The message is too large.", "b", "The message is too large."]
        );
        assert_eq!(lines("x".repeat(LARGEST_MESSAGE).as_bytes()).await[0].len(), LARGEST_MESSAGE);
    }
}
