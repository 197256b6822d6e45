//! `countersign mcp`, ready to be connected to a client or spoken to line by line.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::program::Program;
use crate::support::{Agent, TestApp};

/// What is behind the program's standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// The database itself.
    Database,
    /// A server, over HTTP.
    Server,
}

impl Behind {
    pub const BOTH: [Self; 2] = [Self::Database, Self::Server];

    /// The program for this agent.
    pub fn program(self, app: &TestApp, agent: &Agent) -> Program {
        let program = match self {
            Self::Database => Program::on(&app.database),
            Self::Server => Program::bare().with("COUNTERSIGN_URL", &app.url),
        };
        program.with("COUNTERSIGN_AGENT_KEY", &agent.key).with("COUNTERSIGN_LOG", "debug")
    }
}

/// The program with its three pipes.
pub struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    /// Starts it.
    pub fn open(program: &Program) -> Self {
        let mut command: Command = program.command(&["mcp"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// Writes one line.
    pub fn say(&mut self, line: &str) {
        self.input.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Reads one line, which is JSON because nothing else may be on standard output.
    pub fn hear(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "it ended");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"))
    }

    /// Asks and hears the answer.
    pub fn ask(&mut self, message: &Value) -> Value {
        self.say(&message.to_string());
        self.hear()
    }

    /// Begins a session.
    pub fn shake_hands(&mut self) {
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        let heard = self.ask(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
        assert_eq!(heard["result"]["protocolVersion"], "2025-06-18", "{heard}");
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
    }

    /// Closes the input. Returns what was still to hear, whether it ended well, and what it logged.
    pub fn close(mut self) -> (Vec<Value>, bool, String) {
        drop(self.input.take());
        let rest = self.output.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (rest, self.child.wait().unwrap().success(), log)
    }
}
