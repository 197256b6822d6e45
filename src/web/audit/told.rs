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
        let Logged { event, body, .. } = logged;
        let text = |name: &str| body[name].as_str().unwrap_or_default();
        let (on, href) = match (&event.action_id, &event.subject) {
            (Some(id), _) => {
                let headline = headlines.get(id).cloned().unwrap_or_else(|| "an action".to_owned());
                (headline, Some(format!("/actions/{id}")))
            }
            (None, Some(subject)) => record(subject),
            (None, None) => {
                let about = logged.about.clone();
                (about.unwrap_or_else(|| text("target").replace("kind:", "")), None)
            }
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
            what: what(logged, kind_title),
            on,
            href,
            from: from(text("door"), text("address")),
            outcome: outcome(logged),
            tone: match event.outcome.as_str() {
                _ if event.denied => "denied",
                "executed" | "done" => "ok",
                _ => "",
            },
        }
    }
}

fn what(logged: &Logged, kind_title: &impl Fn(&str) -> String) -> String {
    let Logged { event, body, .. } = logged;
    let text = |name: &str| body[name].as_str().unwrap_or_default();
    let kind = kind_title(text("kind"));
    let tried =
        |done: &str, wanted: &str| if event.denied { format!("wanted to {wanted}") } else { done.to_owned() };
    match event.event.as_str() {
        "tool_call" => format!("called {}", text("tool")),
        "message" => "sent a message that is none".to_owned(),
        "failed_sign_ins" => {
            let tried = if text("of") == "sign_in" { "wanted to sign in" } else { "sent a wrong key" };
            format!("{tried} {} more times in that minute", body["denials_after_the_first"])
        }
        "authentication" => "sent a wrong key".to_owned(),
        "denials" => format!("was denied {} more times in that minute", body["denials_after_the_first"]),
        "approval" if event.denied => format!("wanted to approve {kind}").trim_end().to_owned(),
        "approval" => format!("approved {kind}"),
        "rejection" if event.denied => format!("wanted to reject {kind}").trim_end().to_owned(),
        "rejection" => format!("rejected {kind}"),
        "expiry" => format!("let {kind} expire"),
        "sign_in" => tried("signed in", "sign in"),
        "sign_out" => "signed out".to_owned(),
        "account" if event.denied => "wanted to change an account".to_owned(),
        "account" => event.outcome.replace('_', " "),
        "pause" => tried("paused", "pause"),
        "backup" => "made a backup".to_owned(),
        "resume" => tried("resumed", "resume"),
        "redelivery" => match &body["messages"] {
            Value::Number(many) => format!("had {many} mails tried again"),
            _ => tried("had a mail tried again", "have a mail tried again"),
        },
        other => other.replace('_', " "),
    }
}

fn outcome(logged: &Logged) -> String {
    let Logged { event, body, .. } = logged;
    match (event.event.as_str(), body["rule"].as_str(), body["was"].as_str()) {
        (_, Some(rule), _) => format!("{}: {rule}", event.outcome),
        ("account", _, Some(was)) => {
            let is = body["role"].as_str().or_else(|| body["scopes"].as_str()).unwrap_or_default();
            format!("{was} → {is}")
        }
        ("account", _, None) if !event.denied => "done".to_owned(),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::events::Event;

    fn row(event: &str, outcome: &str, denied: bool, body: Value) -> String {
        let at: Timestamp = "2026-11-29T10:46:02.118".parse().expect("a time");
        let logged = Logged {
            event: Event {
                seq: 1,
                id: String::new(),
                at,
                category: String::new(),
                event: event.to_owned(),
                actor_kind: String::new(),
                actor_id: None,
                action_id: body["action_id"].as_str().map(ToOwned::to_owned),
                subject: body["subject"].as_str().map(ToOwned::to_owned),
                outcome: outcome.to_owned(),
                denied,
                body: body.to_string(),
            },
            who: body["who"].as_str().map(ToOwned::to_owned),
            about: body["about"].as_str().map(ToOwned::to_owned),
            body,
        };
        let headlines = BTreeMap::from([("a1".to_owned(), "Refund order #1044".to_owned())]);
        let row = Row::of(&logged, &headlines, &|kind: &str| kind.replace('_', " "), at);
        [row.time, row.who, row.what, row.on, row.from, row.outcome, row.tone.to_owned()].join(" | ")
    }

    #[test]
    fn events_read_as_sentences() {
        for (event, outcome, denied, body, expected) in [
            (
                "approval",
                "executed",
                false,
                json!({"action_id": "a1", "kind": "refund", "door": "browser", "address": "10.0.0.1", "who": "eve@example.com"}),
                "10:46:02.118 | eve@example.com | approved refund | Refund order #1044 | browser 10.0.0.1 | executed | ok",
            ),
            (
                "tool_call",
                "rule_refused",
                true,
                json!({"tool": "request_refund", "rule": "exceeds_refundable", "door": "mcp_http", "who": "support"}),
                "10:46:02.118 | support | called request_refund |  | MCP | rule_refused: exceeds_refundable | denied",
            ),
            (
                "tool_call",
                "ok",
                false,
                json!({"tool": "get_order", "subject": "order:#1044", "door": "mcp_stdio", "who": "support"}),
                "10:46:02.118 | support | called get_order | order #1044 | MCP, stdio | ok | ",
            ),
            (
                "sign_in",
                "unauthenticated",
                true,
                json!({"door": "browser"}),
                "10:46:02.118 | not signed in | wanted to sign in |  | browser | unauthenticated | denied",
            ),
            (
                "failed_sign_ins",
                "unauthenticated",
                true,
                json!({"door": "rest", "address": "192.0.2.7", "of": "authentication", "denials_after_the_first": 59}),
                "10:46:02.118 | not signed in | sent a wrong key 59 more times in that minute |  | REST 192.0.2.7 | unauthenticated | denied",
            ),
            (
                "message",
                "invalid_params",
                true,
                json!({"door": "mcp_http", "who": "support"}),
                "10:46:02.118 | support | sent a message that is none |  | MCP | invalid_params | denied",
            ),
            (
                "account",
                "role_changed",
                false,
                json!({"door": "command_line", "was": "viewer", "role": "approver", "about": "eve@example.com"}),
                "10:46:02.118 | command line | role changed | eve@example.com |  | viewer → approver | ",
            ),
            (
                "pause",
                "done",
                false,
                json!({"door": "browser", "target": "kind:refund", "who": "owner@example.com"}),
                "10:46:02.118 | owner@example.com | paused | refund | browser | done | ok",
            ),
            (
                "backup",
                "done",
                false,
                json!({"door": "command_line"}),
                "10:46:02.118 | command line | made a backup |  |  | done | ok",
            ),
            (
                "account",
                "unauthenticated",
                true,
                json!({"door": "browser", "who": "eve@example.com"}),
                "10:46:02.118 | eve@example.com | wanted to change an account |  | browser | unauthenticated | denied",
            ),
            (
                "expiry",
                "expired",
                false,
                json!({"door": "internal", "kind": "stock_adjustment"}),
                "10:46:02.118 | Countersign | let stock adjustment expire |  |  | expired | ",
            ),
        ] {
            assert_eq!(row(event, outcome, denied, body), expected);
        }
    }

    #[test]
    fn mails_that_are_tried_again_read_as_sentences() {
        let told = |outcome, denied, body| row("redelivery", outcome, denied, body);
        assert_eq!(
            told("done", false, json!({"door": "browser", "message_id": "m1", "who": "eve@example.com"})),
            "10:46:02.118 | eve@example.com | had a mail tried again |  | browser | done | ok"
        );
        assert_eq!(
            told("done", false, json!({"door": "browser", "messages": 12, "who": "eve@example.com"})),
            "10:46:02.118 | eve@example.com | had 12 mails tried again |  | browser | done | ok"
        );
        assert_eq!(
            told("not_found", true, json!({"door": "browser", "who": "eve@example.com"})),
            "10:46:02.118 | eve@example.com | wanted to have a mail tried again |  | browser | not_found | denied"
        );
    }
}
