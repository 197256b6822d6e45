//! What strangers can write into the log.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::support::program::Program;

/// No HTTP, half of it, too much of it, and a connection of HTTP/2 that breaks its rules.
const HOSTILE: &[&[u8]] = &[
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /\x00\x1b[31m HTTP/1.1\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n",
    b"POST /mcp HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
];

#[test]
fn hostile_bytes_leave_no_line_behind() {
    let program = Program::bare();
    let mut server = program
        .command(&["serve", "--listen", "127.0.0.1:0", "--log", "info"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = server.stderr.take().unwrap();
    let mut said = String::new();
    let listen = loop {
        let mut some = [0; 1000];
        let length = log.read(&mut some).unwrap();
        said += std::str::from_utf8(&some[..length]).unwrap();
        if let Some((_, address)) = said.split_once("listen=")
            && let Some((address, _)) = address.split_once(' ')
        {
            break address.to_owned();
        }
    };
    let endless = vec![b'x'; 300_000];
    for _ in 0..20 {
        for bytes in HOSTILE.iter().copied().chain([endless.as_slice()]) {
            let mut stranger = TcpStream::connect(&listen).unwrap();
            // It may hang up in the middle.
            let _ = stranger.write_all(bytes);
            let _ = stranger.set_read_timeout(Some(Duration::from_millis(5)));
            let _ = stranger.read(&mut [0; 100]);
        }
    }
    sleep(Duration::from_millis(500));
    assert!(Command::new("kill").arg(server.id().to_string()).status().unwrap().success());
    log.read_to_string(&mut said).unwrap();
    server.wait().unwrap();
    let loud: Vec<_> = said.lines().filter(|line| !line.contains(" INFO countersign")).collect();
    assert!(loud.is_empty(), "{} lines, such as {loud:#?}", loud.len());
}
