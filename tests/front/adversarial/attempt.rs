//! One attempt, and what became of it.

use countersign::store::agents;
use serde_json::{Value, json};

use crate::support::agent::Answer;
use crate::support::person::Reply;
use crate::support::rows::Rows;
use crate::support::{Agent, TestApp, shop};

/// A call that has been answered.
pub struct Attempt<'a> {
    app: &'a TestApp,
    agent: &'a Agent,
    tool: &'a str,
    before: Rows,
    pub answer: Answer,
}

/// The agent with every scope tries something.
pub async fn attempt<'a>(app: &'a TestApp, tool: &'a str, arguments: Value) -> Attempt<'a> {
    attempt_by(app, &app.agent, tool, arguments).await
}

/// This agent tries something.
pub async fn attempt_by<'a>(
    app: &'a TestApp,
    agent: &'a Agent,
    tool: &'a str,
    arguments: Value,
) -> Attempt<'a> {
    let before = app.rows().await;
    let answer = agent.call(tool, arguments).await;
    Attempt {
        app,
        agent,
        tool,
        before,
        answer,
    }
}

impl Attempt<'_> {
    /// It was refused with this code: nothing is stored but the event that says so.
    pub async fn is_refused(&self, code: &str) {
        assert_eq!(self.answer.code(), code, "{}", self.answer.body);
        assert_eq!(self.app.grown_since(&self.before).await, [("events", 1)], "{code}");
        let event = self.event().await;
        assert_eq!((&event["outcome"], &event["denied"]), (&json!(code), &json!(true)), "{event}");
        assert_eq!(event["rule"], self.answer.body["error"]["rule"], "{event}");
    }

    /// The same, and the answer names the argument at fault.
    pub async fn is_refused_for(&self, field: &str) {
        self.is_refused("invalid_params").await;
        assert_eq!(self.answer.body["error"]["field"], field, "{}", self.answer.body);
    }

    /// A rule of the shop refused it.
    pub async fn breaks_the_rule(&self, rule: &str) {
        self.is_refused("rule_refused").await;
        assert_eq!(self.answer.body["error"]["rule"], rule, "{}", self.answer.body);
    }

    /// It waits for a person and has done nothing else. Returns the action's id.
    pub async fn only_waits(&self) -> String {
        let body = &self.answer.body;
        assert_eq!((&body["status"], &body["disposition"]), (&json!("pending"), &json!("new")), "{body}");
        assert_eq!(
            self.app.grown_since(&self.before).await,
            [("actions", 1), ("events", 1), ("notices", 1), ("slots", 1)]
        );
        let event = self.event().await;
        assert_eq!(
            (&event["outcome"], &event["action_id"]),
            (&json!("pending"), &body["action_id"]),
            "{event}"
        );
        shop::id(body).to_owned()
    }

    /// It changed nothing: the answer is the action that was there, `joined` or `replayed`.
    pub async fn repeats(&self, action_id: &str, disposition: &str) {
        let body = &self.answer.body;
        assert_eq!(
            (&body["action_id"], &body["disposition"]),
            (&json!(action_id), &json!(disposition)),
            "{body}"
        );
        assert_eq!(self.app.grown_since(&self.before).await, [("events", 1)]);
        let event = self.event().await;
        assert_eq!(
            (&event["outcome"], &event["action_id"]),
            (&json!(disposition), &json!(action_id)),
            "{event}"
        );
    }

    /// The event of this call: by this agent, with this tool, through this door.
    async fn event(&self) -> Value {
        let event = self.app.last_event().await;
        let name = self.agent.name.clone();
        let agent = self.app.inner.db.read(move |conn| agents::by_name(conn, &name)).await.unwrap().unwrap();
        assert_eq!(event["actor"], json!({ "kind": "agent", "id": agent.id }), "{event}");
        assert_eq!((&event["event"], &event["tool"]), (&json!("tool_call"), &json!(self.tool)), "{event}");
        assert_eq!((&event["door"], &event["address"]), (&json!("mcp_http"), &json!("127.0.0.1")), "{event}");
        event
    }
}

/// A decision was refused with this code: nothing is stored but the event that says so.
pub async fn is_refused_decision(app: &TestApp, before: &Rows, reply: &Reply, code: &str) {
    assert_eq!(reply.code(), code, "{reply:?}");
    assert_eq!(app.grown_since(before).await, [("events", 1)], "{code}");
    let event = app.last_event().await;
    assert_eq!((&event["outcome"], &event["denied"]), (&json!(code), &json!(true)), "{event}");
}

/// A refund of order #1001.
pub fn refund(amount_minor: i64) -> Value {
    shop::refund("1001", amount_minor)
}

/// A refund of order #1001 with one argument of its own.
pub fn refund_with(name: &str, value: Value) -> Value {
    let mut arguments = refund(100);
    arguments[name] = value;
    arguments
}
