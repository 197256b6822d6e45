//! What each tool may answer, to the last member: written by hand, stricter than the schema it publishes.
//!
//! Every answer is held to both. A tool without a contract here fails, so a new one can't be forgotten.

use std::collections::BTreeMap;

use countersign::app::registry;
use countersign::config::Config;
use countersign::db::Clock;
use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::Agent;
use super::agent::Answer;

/// The contracts of all tools that an agent is shown.
pub struct Contract(BTreeMap<String, [Validator; 2]>);

impl Contract {
    /// Of the tools in this agent's list.
    pub async fn of(agent: &Agent) -> Self {
        let tools = agent.tools().await;
        let both = tools.iter().map(|tool| {
            let name = tool["name"].as_str().unwrap();
            let strict = json!({ "anyOf": [success(name), error()] });
            (
                name.to_owned(),
                [&tool["outputSchema"], &strict].map(|schema| Validator::new(schema).unwrap()),
            )
        });
        Self(both.collect())
    }

    /// Holds an answer to both schemas, and the error flag to the body.
    #[track_caller]
    pub fn hold(&self, tool: &str, answer: &Answer) {
        for schema in &self.0[tool] {
            let broken: Vec<_> = schema.iter_errors(&answer.body).map(|error| error.to_string()).collect();
            assert!(broken.is_empty(), "{tool} answered {:#}\n{broken:#?}", answer.body);
        }
        assert_eq!(answer.is_error, answer.body.get("error").is_some(), "{tool}: {}", answer.body);
    }
}

fn success(tool: &str) -> Value {
    let list = |name: &str, of: Value| {
        closed(
            &[name],
            json!({ name: { "type": "array", "maxItems": 50, "items": of }, "next_cursor": text() }),
        )
    };
    match tool {
        "get_order" => order(true),
        "search_orders" => list("orders", order(false)),
        "list_products" => list("products", product()),
        "check_stock" => closed(
            &["sku", "title", "stock", "as_of"],
            json!({ "sku": text(), "title": text(), "stock": amount(), "as_of": time() }),
        ),
        "list_actions" => list("actions", action(None, &[])),
        "get_action_status" | "withdraw_action" => action(None, &[]),
        request if request.starts_with("request_") => {
            action(request.strip_prefix("request_"), &["disposition"])
        }
        unknown => panic!("{unknown} has no contract here"),
    }
}

fn error() -> Value {
    let codes = [
        "invalid_params",
        "not_found",
        "scope_missing",
        "rate_limited",
        "paused",
        "idempotency_key_required",
        "idempotency_key_reused",
        "rule_refused",
        "unavailable",
        "internal",
    ];
    let mut error = closed(
        &["code", "message"],
        json!({ "code": { "enum": codes }, "message": sentence(), "field": text(), "rule": text(),
            "retry_after_seconds": { "type": "integer", "minimum": 1 } }),
    );
    error["allOf"] = json!([
        given("code", "rule_refused", &["rule"]),
        given("code", "rate_limited", &["retry_after_seconds"]),
    ]);
    closed(&["error"], json!({ "error": error }))
}

/// An action; of one kind where the tool has only one. A disposition is there where it is required, and nowhere else.
fn action(kind: Option<&str>, more: &[&str]) -> Value {
    let registry = registry(&Config::on("sqlite://unused.db").unwrap(), Clock::default());
    let every = || registry.kinds().map(|kind| kind.spec().name).collect();
    let kinds: Vec<_> = kind.map_or_else(every, |kind| vec![kind]);
    let statuses = ["pending", "executed", "failed", "rejected", "withdrawn", "expired"];
    let decision = closed(
        &["by", "at", "amended"],
        json!({ "by": text(), "at": time(), "note": text(), "reason": text(), "amended": { "const": false } }),
    );
    let mut properties = json!({
        "action_id": id(), "kind": { "enum": &kinds }, "status": { "enum": statuses },
        "attempt": { "type": "integer", "minimum": 1 }, "previous_action_id": id(), "summary": text(),
        "requested_at": time(), "expires_at": time(), "decision": decision,
        "review_url": { "type": "string", "pattern": "^https?://[^/]+/actions/[0-9a-f-]{36}$" },
        "result": { "type": "object" },
        "dropped": time(), "refusal": closed(&["rule", "message"], json!({ "rule": text(), "message": sentence() })),
        "next": sentence(),
    });
    for name in more {
        properties[name] = json!({ "enum": ["new", "joined", "replayed"] });
    }
    let required = [
        "action_id",
        "kind",
        "status",
        "attempt",
        "summary",
        "requested_at",
        "expires_at",
        "review_url",
        "next",
    ];
    let mut action = closed(&[&required, more].concat(), properties);
    let mut rules = vec![
        given("status", "executed", &["decision", "result"]),
        given("status", "failed", &["decision", "refusal"]),
        given("status", "rejected", &["decision"]),
        only_with("result", &["executed"]),
        only_with("refusal", &["failed"]),
        only_with("decision", &["executed", "failed", "rejected"]),
    ];
    let result_of = |kind: &&str| {
        json!({ "if": { "properties": { "kind": { "const": kind } } },
            "then": { "properties": { "result": result(kind) } } })
    };
    rules.extend(kinds.iter().map(result_of));
    action["allOf"] = json!(rules);
    action
}

/// What an executed action of this kind answers. A new kind needs its own here.
fn result(kind: &str) -> Value {
    let movement = closed(
        &["sku", "delta", "stock"],
        json!({ "sku": text(), "delta": { "type": "integer" }, "stock": amount() }),
    );
    match kind {
        "refund" => closed(
            &["refunded_minor", "refunded_text", "currency", "financial_status"],
            json!({ "refunded_minor": amount(), "refunded_text": money(), "currency": currency(),
                "financial_status": { "enum": ["partially_refunded", "refunded"] } }),
        ),
        "order_cancellation" => closed(
            &["cancelled_at", "restocked", "owed_minor", "owed_text", "currency"],
            json!({ "cancelled_at": time(), "restocked": { "type": "array", "items": movement },
                "not_restocked": { "type": "array", "minItems": 1, "items": text() },
                "owed_minor": amount(), "owed_text": money(), "currency": currency() }),
        ),
        "stock_adjustment" => movement,
        unknown => panic!("{unknown} has no contract here"),
    }
}

fn order(full: bool) -> Value {
    let mut properties = json!({
        "order_id": { "type": "string", "pattern": "^#" }, "email": text(),
        "financial_status": { "enum": ["pending", "paid", "partially_refunded", "refunded", "voided"] },
        "fulfillment_status": { "enum": ["unfulfilled", "partial", "fulfilled"] },
        "cancelled_at": time(), "currency": currency(), "total_minor": amount(), "total_text": money(),
        "refunded_minor": amount(), "refunded_text": money(), "created_at": time(),
    });
    let mut required: Vec<String> = properties.as_object().unwrap().keys().cloned().collect();
    required.retain(|name| name != "cancelled_at");
    if full {
        let line = json!({ "sku": text(), "name": text(), "quantity": amount(), "price_minor": amount(), "price_text": money() });
        let line = closed(&["sku", "name", "quantity", "price_minor", "price_text"], line);
        let refund = json!({ "action_id": id(), "amount_minor": amount(), "amount_text": money(), "refunded_at": time() });
        let refund = closed(&["amount_minor", "amount_text", "refunded_at"], refund);
        properties["lines"] = json!({ "type": "array", "items": line });
        properties["refunds"] = json!({ "type": "array", "items": refund });
        required.extend(["lines".to_owned(), "refunds".to_owned()]);
    }
    closed(&required.iter().map(String::as_str).collect::<Vec<_>>(), properties)
}

fn product() -> Value {
    let properties = json!({ "sku": text(), "title": text(), "price_minor": amount(), "price_text": money(),
        "currency": currency(), "stock": amount() });
    let required: Vec<_> =
        properties.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
    closed(&required, properties.clone())
}

fn closed(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "additionalProperties": false, "required": required, "properties": properties })
}

/// Requires members where another one has a value.
fn given(member: &str, value: &str, required: &[&str]) -> Value {
    json!({ "if": { "properties": { member: { "const": value } } }, "then": { "required": required } })
}

/// Allows a member in these statuses alone.
fn only_with(member: &str, statuses: &[&str]) -> Value {
    json!({ "if": { "required": [member] }, "then": { "properties": { "status": { "enum": statuses } } } })
}

fn text() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

/// A whole one: it ends.
fn sentence() -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z`].*[.]$" })
}

fn time() -> Value {
    json!({ "type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$" })
}

/// A UUIDv7.
fn id() -> Value {
    json!({ "type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$" })
}

fn currency() -> Value {
    json!({ "type": "string", "pattern": "^[A-Z]{3}$" })
}

fn money() -> Value {
    json!({ "type": "string", "pattern": r"^[A-Z]{3} \d{1,3}(,\d{3})*(\.\d{2,3})?$" })
}

/// Minor units, pieces: never below zero.
fn amount() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_991_i64 })
}
