//! One event of the log, in words.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    audit::log::Logged,
    db::Timestamp,
    web::{link::record, when},
};

/// A row of the page.
pub struct Row {
    /// The day, unless it is today.
    pub day: Option<String>,
    pub time: String,
    pub who: String,
    pub what: String,
    /// What it is about: a name, and its page.
    pub on: String,
    pub href: Option<String>,
    /// Through which door, and from which address.
    pub from: String,
    pub outcome: String,
    /// denied, ok or nothing.
    pub tone: &'static str,
}

impl Row {
    /// The row of an event. `headlines` are the actions' own, by id.
    pub fn of(
        logged: &Logged,
        headlines: &BTreeMap<String, String>,
        kind_title: &impl Fn(&str) -> String,
        now: Timestamp,
    ) -> Self {
        let event = &logged.event;
        let body: Value = serde_json::from_str(&event.body).unwrap_or_default();
        let text = |name: &str| body[name].as_str().unwrap_or_default();
        let (on, href) = match (&event.action_id, &event.subject) {
            (Some(id), _) => {
                let headline = headlines.get(id).cloned().unwrap_or_else(|| "an action".to_owned());
                (headline, Some(format!("/actions/{id}")))
            }
            (None, Some(subject)) => record(subject),
            (None, None) => (text("target").replace("kind:", ""), None),
        };
        Self {
            day: (event.at.date() != now.date()).then(|| when::day(event.at)),
            time: event.at.format("%H:%M:%S%.3f").to_string(),
            who: match (&logged.who, text("door")) {
                (Some(who), _) => who.clone(),
                (None, "command_line") => "command line".to_owned(),
                (None, "internal") => "Countersign".to_owned(),
                (None, _) => "not signed in".to_owned(),
            },
            what: what(logged, &body, kind_title),
            on,
            href,
            from: from(text("door"), text("address")),
            outcome: outcome(logged, &body),
            tone: match event.outcome.as_str() {
                _ if event.denied => "denied",
                "executed" | "done" => "ok",
                _ => "",
            },
        }
    }
}

fn what(logged: &Logged, body: &Value, kind_title: &impl Fn(&str) -> String) -> String {
    let event = &logged.event;
    let text = |name: &str| body[name].as_str().unwrap_or_default();
    let kind = kind_title(text("kind"));
    let tried =
        |done: &str, wanted: &str| if event.denied { format!("wanted to {wanted}") } else { done.to_owned() };
    match event.event.as_str() {
        "tool_call" => format!("called {}", text("tool")),
        "denials" => format!("was denied {} more times in that minute", body["denials_after_the_first"]),
        "approval" if event.denied => format!("wanted to approve {kind}").trim_end().to_owned(),
        "approval" => format!("approved {kind}"),
        "rejection" if event.denied => format!("wanted to reject {kind}").trim_end().to_owned(),
        "rejection" => format!("rejected {kind}"),
        "expiry" => format!("let {kind} expire"),
        "sign_in" => tried("signed in", "sign in"),
        "sign_out" => "signed out".to_owned(),
        "account" => event.outcome.replace('_', " "),
        "pause" => tried("paused", "pause"),
        "resume" => tried("resumed", "resume"),
        other => other.replace('_', " "),
    }
}

fn outcome(logged: &Logged, body: &Value) -> String {
    let event = &logged.event;
    match (event.event.as_str(), body["rule"].as_str(), body["was"].as_str()) {
        (_, Some(rule), _) => format!("{}: {rule}", event.outcome),
        ("account", _, Some(was)) => {
            let is = body["role"].as_str().or_else(|| body["scopes"].as_str()).unwrap_or_default();
            format!("{was} → {is}")
        }
        ("account", _, None) => "done".to_owned(),
        _ => event.outcome.clone(),
    }
}

fn from(door: &str, address: &str) -> String {
    let door = match door {
        "mcp_http" => "MCP",
        "mcp_stdio" => "MCP, stdio",
        "browser" => "browser",
        "rest" => "REST",
        "command_line" | "internal" => "",
        other => other,
    };
    if address.is_empty() { door.to_owned() } else { format!("{door} {address}") }
}
