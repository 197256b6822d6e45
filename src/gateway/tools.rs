//! Every tool there is: the gate's own, the registry's reads, and one per kind.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Target, own::Own};
use crate::{
    error::Denial,
    kinds::{JsonObject, KindSpec, Registry, Shape, schema::object_schema},
    text,
    workflow::ActionView,
};

/// The longest reason and idempotency key, in characters.
const REASON_CHARS: u64 = 1000;
const KEY_CHARS: u64 = 200;

/// A tool as an MCP client is shown it.
#[derive(Debug, Clone)]
pub struct Tool {
    pub name: String,
    pub title: String,
    pub description: String,
    pub input_schema: JsonObject,
    pub output_schema: JsonObject,
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

/// One tool with what it takes to call it.
pub(super) struct Callable {
    /// This program's own text, not the caller's.
    pub(super) name: &'static str,
    scope: Option<&'static str>,
    shape: Arc<Shape>,
    pub(super) target: Target,
    tool: Tool,
}

/// The tools in the order agents see them.
pub(super) struct Toolbox(Vec<Callable>);

impl Toolbox {
    pub(super) fn new(registry: &Registry) -> Self {
        let reads = registry.reads().map(|read| {
            let spec = read.spec();
            let tool =
                tool(spec.name, spec.title, spec.description, &spec.shape, spec.output.clone(), true, false);
            Callable {
                name: spec.name,
                scope: Some(spec.scope),
                shape: Arc::clone(&spec.shape),
                target: Target::Read(read.clone()),
                tool,
            }
        });
        let owns = Own::ALL.iter().map(|&own| {
            let shape = own.shape();
            let (read_only, output) = (own != Own::Withdraw, own.output());
            let tool = tool(own.as_str(), own.title(), own.description(), &shape, output, read_only, false);
            Callable {
                name: own.as_str(),
                scope: None,
                shape: Arc::new(shape),
                target: Target::Own(own),
                tool,
            }
        });
        let requests = registry.kinds().map(|kind| {
            let spec = kind.spec();
            let (name, shape) = (request_name(spec), request_shape(spec));
            let output = object_schema::<ActionView>();
            let tool = tool(name, spec.title, spec.description, &shape, output, false, spec.destructive);
            Callable {
                name,
                scope: Some(spec.scope),
                shape: Arc::new(shape),
                target: Target::Request(kind.clone()),
                tool,
            }
        });
        Self(reads.chain(owns).chain(requests).collect())
    }

    /// The tools that these scopes allow.
    pub(super) fn allowed(&self, scopes: &[String]) -> Vec<Tool> {
        let allowed = self.0.iter().filter(|callable| callable.scope_missing(scopes).is_none());
        allowed.map(|callable| callable.tool.clone()).collect()
    }

    /// The tool of that name.
    pub(super) fn find(&self, name: &str) -> Option<&Callable> {
        self.0.iter().find(|callable| callable.name == name)
    }
}

impl Callable {
    /// The scope it takes, if it is none of these.
    pub(super) fn scope_missing(&self, held: &[String]) -> Option<&'static str> {
        self.scope.filter(|scope| !held.iter().any(|held| held == scope))
    }

    /// Checks what it is called with.
    pub(super) fn check(&self, arguments: &JsonObject) -> Result<(), Denial> {
        self.shape.check(arguments)?;
        let blank = arguments.get("reason").and_then(Value::as_str).is_some_and(text::is_blank);
        if blank && matches!(self.target, Target::Request(_)) {
            return Err(Denial::invalid("reason", "reason must say why; the approver reads it."));
        }
        Ok(())
    }
}

/// `request_` + kind.
fn request_name(spec: &KindSpec) -> &'static str {
    // Once per kind and gateway, of which a process has one.
    String::leak(spec.tool())
}

/// The kind's own arguments, and those of every request.
fn request_shape(spec: &KindSpec) -> Shape {
    let mut properties = JsonObject::new();
    properties.insert(
        "reason".to_owned(),
        json!({ "type": "string", "minLength": 1, "maxLength": REASON_CHARS, "description": "Why, for the person who decides." }),
    );
    properties.insert(
        "idempotency_key".to_owned(),
        json!({
            "type": "string", "minLength": 1, "maxLength": KEY_CHARS, "pattern": "^[ -~]+$",
            "description": "Optional name of this one write: the same on every retry, a new one only to do it once more on purpose.",
        }),
    );
    spec.shape.with(properties, &["reason"])
}

fn tool(
    name: &str,
    title: &str,
    description: &str,
    shape: &Shape,
    output: JsonObject,
    read_only: bool,
    destructive: bool,
) -> Tool {
    Tool {
        name: name.to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
        input_schema: shape.schema().clone(),
        output_schema: or_error(&output),
        read_only,
        destructive,
        // A repeated request joins or replays the first, and everything else changes nothing.
        idempotent: true,
        open_world: false,
    }
}

/// The flat union of an answer and the error envelope: clients that validate must accept both. Only the outermost members,
/// because the whole tool list has to stay small; answers explain the rest themselves.
fn or_error(answer: &JsonObject) -> JsonObject {
    let mut properties = JsonObject::new();
    for (name, schema) in answer.get("properties").and_then(Value::as_object).into_iter().flatten() {
        properties.insert(name.clone(), outermost(schema));
    }
    properties.insert("error".to_owned(), json!({ "type": "object" }));
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema
}

fn outermost(schema: &Value) -> Value {
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => json!({ "type": "array", "items": { "type": "object" } }),
        Some(one) => json!({ "type": one }),
        None => json!({}),
    }
}
