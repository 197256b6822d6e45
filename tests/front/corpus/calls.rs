//! Calls with arguments written by hand, many at once, each answer examined.

use std::collections::BTreeSet;

use futures_util::{StreamExt, stream};
use jsonschema::Validator;
use reqwest::StatusCode;
use serde_json::{Map, Value, json};

use crate::support::agent::Answer;
use crate::support::contract::Contract;
use crate::support::{Agent, TestApp};

/// So many calls are under way at once.
const AT_ONCE: usize = 8;

/// What no answer may hold: the words of the database, of the parsers, of the source.
const LEAKS: &[&str] = &[
    "select",
    "insert",
    "update ",
    "delete ",
    "sqlite",
    "postgres",
    "diesel",
    "constraint",
    "relation ",
    "syntax",
    "panicked",
    "src/",
    ".rs",
    "serde",
    "::",
    "expected",
    " line ",
    " column ",
    "stack",
    "backtrace",
    "rmcp",
    "unwrap",
    "regex",
    "passwd",
    "/tmp",
];

/// A tool as the server lists it.
pub struct Tool {
    pub name: String,
    pub schema: Value,
    accepts: Validator,
}

impl Tool {
    /// Every tool of the agent.
    pub async fn all(agent: &Agent) -> Vec<Self> {
        let tools = agent.tools().await.into_iter().map(|tool| Self {
            name: tool["name"].as_str().unwrap().to_owned(),
            accepts: Validator::new(&tool["inputSchema"]).unwrap(),
            schema: tool["inputSchema"].clone(),
        });
        tools.collect()
    }

    /// The names of its arguments.
    pub fn arguments(&self) -> impl Iterator<Item = &String> {
        self.schema["properties"].as_object().unwrap().keys()
    }

    /// The names of those it can't do without.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|name| name.as_str().unwrap())
    }

    /// Whether the published schema accepts these arguments, as any JSON parser would read them. `null` is how some
    /// clients write that there are none.
    fn takes(&self, arguments: &str) -> bool {
        let read = serde_json::from_str::<Option<Value>>(arguments);
        read.is_ok_and(|arguments| self.accepts.is_valid(&arguments.unwrap_or_else(|| json!({}))))
    }
}

/// Sends all these arguments to the tool and examines each answer: every call left one event, every success of a
/// request one action, and nothing else was stored.
pub async fn send_all(app: &TestApp, tool: &Tool, all: Vec<String>) {
    let (contract, before, sent) = (Contract::of(&app.agent).await, app.rows().await, all.len());
    let answers = stream::iter(all)
        .map(|arguments| send(&app.agent, tool, arguments))
        .buffer_unordered(AT_ONCE);
    let mut opened = BTreeSet::new();
    for (arguments, answer) in answers.collect::<Vec<_>>().await {
        let shown: String = arguments.chars().take(200).collect();
        contract.hold(&tool.name, &answer);
        if answer.is_error {
            assert!(
                !matches!(answer.code(), "internal" | "unavailable"),
                "{} {shown}: {answer:?}",
                tool.name
            );
        } else {
            assert!(tool.takes(&arguments), "{} took what its schema refuses: {shown}", tool.name);
        }
        if answer.body.get("disposition").is_some() {
            opened.insert(answer.body["action_id"].as_str().unwrap().to_owned());
        }
    }
    let (sent, opened) = (i64::try_from(sent).unwrap(), i64::try_from(opened.len()).unwrap());
    let mut expected = vec![("actions", opened), ("events", sent), ("notices", opened), ("slots", opened)];
    expected.retain(|(_, by)| *by > 0);
    assert_eq!(app.grown_since(&before).await, expected, "{}", tool.name);
}

async fn send(agent: &Agent, tool: &Tool, arguments: String) -> (String, Answer) {
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{}","arguments":{arguments}}}}}"#,
        tool.name
    );
    let (status, body) = agent.post(call).await;
    assert_eq!(status, StatusCode::OK, "{} {arguments}: {body}", tool.name);
    assert_leaks_nothing(&body);
    let reply: Value = serde_json::from_str(&body).unwrap();
    let result = &reply["result"];
    let answer = Answer {
        is_error: result["isError"].as_bool().unwrap_or_else(|| panic!("{} {arguments}: {body}", tool.name)),
        body: result["structuredContent"].clone(),
    };
    (arguments, answer)
}

/// No answer speaks of what is behind it.
#[track_caller]
pub fn assert_leaks_nothing(body: &str) {
    let lower = body.to_lowercase();
    if let Some(leak) = LEAKS.iter().find(|leak| lower.contains(**leak)) {
        panic!("{leak:?} in {body}");
    }
}

/// Arguments that the tool accepts: its required ones, each with a value that fits.
pub fn sound(tool: &Tool) -> Map<String, Value> {
    let arguments = tool
        .required()
        .map(|name| (name.to_owned(), fitting(name, &tool.schema["properties"][name])));
    arguments.collect()
}

/// A value by the argument's name, or by its type where the name is new.
fn fitting(name: &str, schema: &Value) -> Value {
    match (name, schema["type"].as_str()) {
        ("order_id", _) => json!("1001"),
        ("sku", _) => json!("SKU-1"),
        ("currency", _) => json!("INR"),
        (_, Some("integer")) => json!(1),
        (_, Some("boolean")) => json!(true),
        (_, Some("string")) => {
            schema["enum"][0].as_str().map_or_else(|| json!("Broken"), |value| json!(value))
        }
        (_, other) => panic!("{name} is of type {other:?}: say what fits it"),
    }
}
