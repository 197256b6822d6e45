//! Server-sent events, as far as the bridge needs them: the data of each. The server sends them when it has something to
//! tell before the answer.

use crate::mcp::lines::Out;

/// A stream that is being read, in whatever pieces it arrives.
#[derive(Default)]
struct Events {
    line: Vec<u8>,
    data: Vec<String>,
}

impl Events {
    /// The data of the events that are complete with these bytes.
    fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut complete = Vec::new();
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(&line));
            if let Some(data) = line.strip_prefix("data:") {
                self.data.push(data.strip_prefix(' ').unwrap_or(data).to_owned());
            } else if line.is_empty() && !self.data.is_empty() {
                complete.push(std::mem::take(&mut self.data).join("\n"));
            }
        }
        complete
    }
}

/// Passes on what the server tells before its answer. The answer, unless the stream ends without one.
pub async fn listen(response: &mut reqwest::Response, out: &Out) -> reqwest::Result<Option<String>> {
    let mut events = Events::default();
    while let Some(bytes) = response.chunk().await? {
        for data in events.feed(&bytes) {
            let Ok(message) = serde_json::from_str::<serde_json::Value>(&data) else {
                continue;
            };
            if message.get("method").is_none() {
                return Ok(Some(data));
            }
            let _gone = out.line(message.to_string()).await;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_its_data_however_it_arrives() {
        let stream = "id: 0\r\nretry: 3000\r\ndata: \r\n\r\n: still here\n\nevent: message\ndata: {\"a\":\ndata:1}\n\ndata: b\n\ndata: c\n";
        let expected = ["", "{\"a\":\n1}", "b"];
        assert_eq!(Events::default().feed(stream.as_bytes()), expected);
        let mut events = Events::default();
        let pieces: Vec<_> = stream.as_bytes().chunks(1).flat_map(|piece| events.feed(piece)).collect();
        assert_eq!(pieces, expected);
    }
}
