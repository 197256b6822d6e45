//! What strangers can write into the log.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::program::Program;
use crate::support::{Agent, http, runtime};

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

/// A server and what it has said.
struct Talking {
    server: Child,
    log: ChildStderr,
    said: String,
    listen: String,
}

impl Talking {
    /// Starts one, and waits until it says where it listens.
    fn start(program: &Program) -> Self {
        let mut command = program.command(&["serve", "--listen", "127.0.0.1:0", "--log", "info"]);
        let mut server = command.stderr(Stdio::piped()).spawn().unwrap();
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
        Self {
            server,
            log,
            said,
            listen,
        }
    }

    /// Stops it. It has said nothing but what any start and stop says.
    fn was_quiet(mut self) {
        sleep(Duration::from_millis(500));
        assert!(Command::new("kill").arg(self.server.id().to_string()).status().unwrap().success());
        self.log.read_to_string(&mut self.said).unwrap();
        self.server.wait().unwrap();
        let loud: Vec<_> = self.said.lines().filter(|line| !line.contains(" INFO countersign")).collect();
        assert!(loud.is_empty(), "{} lines, such as {loud:#?}", loud.len());
        assert!(self.said.contains(" database=sqlite://"), "{}", self.said);
    }
}

#[test]
fn hostile_bytes_leave_no_line_behind() {
    let program = Program::bare();
    let talking = Talking::start(&program);
    let endless = vec![b'x'; 300_000];
    for _ in 0..20 {
        for bytes in HOSTILE.iter().copied().chain([endless.as_slice()]) {
            let mut stranger = TcpStream::connect(&talking.listen).unwrap();
            // It may hang up in the middle.
            let _ = stranger.write_all(bytes);
            let _ = stranger.set_read_timeout(Some(Duration::from_millis(5)));
            let _ = stranger.read(&mut [0; 100]);
        }
    }
    talking.was_quiet();
}

#[test]
fn who_hangs_up_while_it_waits_leaves_no_line_behind() {
    let program = Program::bare();
    for command in ["migrate", "seed"] {
        program.run(&[command]).ok();
    }
    let scopes = ["--scope", "orders:write"];
    let added = program
        .run(&[&["agent", "add", "--name", "hasty", "--json"], &scopes[..]].concat())
        .json();
    let talking = Talking::start(&program);
    runtime().block_on(async {
        let agent = Agent {
            elsewhere: None,
            stdio: None,
            name: "hasty".into(),
            key: added["key"].as_str().unwrap().into(),
            endpoint: format!("http://{}/mcp", talking.listen),
            http: http::client(),
        };
        let refund =
            json!({ "order_id": "1200", "amount_minor": 100, "currency": "INR", "reason": "Broken" });
        let asked = agent.call("request_refund", refund).await.ok();
        let wait = json!({ "action_id": asked["action_id"], "wait_seconds": 50 });
        for agent in agent.processes(5) {
            let waiting = tokio::spawn(agent.calling("get_action_status", &wait));
            tokio::time::sleep(Duration::from_millis(300)).await;
            waiting.abort();
        }
    });
    talking.was_quiet();
}

#[test]
fn a_log_that_can_not_be_written_ends_nothing() {
    let (reader, unread) = std::io::pipe().unwrap();
    drop(reader);
    let full = File::options().write(true).open("/dev/full").unwrap();
    for log in [Stdio::from(unread), Stdio::from(full)] {
        let program = Program::bare();
        let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let mut command = program.command(&["serve", "--listen", &listen, "--log", "debug"]);
        let mut server = command.stderr(log).spawn().unwrap();
        runtime().block_on(async {
            let patience = Instant::now() + Duration::from_secs(20);
            while !reqwest::get(format!("http://{listen}/readyz"))
                .await
                .is_ok_and(|ready| ready.status() == 200)
            {
                assert!(server.try_wait().unwrap().is_none(), "it ended");
                assert!(Instant::now() < patience, "it doesn't begin");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        assert!(Command::new("kill").arg(server.id().to_string()).status().unwrap().success());
        assert_eq!(server.wait().unwrap().code(), Some(0));
    }
}
