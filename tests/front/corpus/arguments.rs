//! Every tool, every argument, every value.

use serde_json::{Map, Value, json};

use super::calls::{Tool, send_all, sound};
use super::values::hostile;
use crate::support::{TestApp, backends, settings};

backends!(no_value_of_any_argument_breaks_a_tool);
async fn no_value_of_any_argument_breaks_a_tool(app: &TestApp) {
    stock_the_shop(app).await;
    let (tools, mut calls) = (Tool::all(&app.agent).await, 0);
    for tool in &tools {
        let sound = sound(tool);
        let mut all = Vec::new();
        for argument in tool.arguments() {
            all.extend(hostile().iter().map(|value| with(&sound, argument, value)));
        }
        calls += all.len();
        send_all(app, tool, all).await;
    }
    let backend = app.database.backend;
    settings::figure(&format!("hostile values, {backend}: {calls} calls of {} tools", tools.len()));
}

backends!(no_shape_of_the_arguments_breaks_a_tool);
async fn no_shape_of_the_arguments_breaks_a_tool(app: &TestApp) {
    stock_the_shop(app).await;
    for tool in Tool::all(&app.agent).await {
        let sound = sound(&tool);
        let mut all: Vec<String> = hostile();
        // Members that nobody knows, whatever they are called.
        let long = "k".repeat(10_000);
        let names =
            ["", "__proto__", "constructor", "ORDER_ID", "order_id ", "\u{202e}reason", "a'b\"c", &long];
        all.extend(names.iter().map(|name| with(&sound, name, "1")));
        all.push(before(&sound, r#""a\u0000b":1"#));
        all.push(before(&sound, r#""\ud800":1"#));
        for name in tool.required() {
            // Left out, or given twice: with the same value, or with another.
            let mut without = sound.clone();
            without.remove(name);
            all.push(json!(without).to_string());
            for again in [sound[name].to_string(), "null".to_owned()] {
                all.push(before(&sound, &format!("{}:{again}", json!(name))));
            }
        }
        send_all(app, &tool, all).await;
    }
}

backends!(the_argument_at_fault_is_named);
async fn the_argument_at_fault_is_named(app: &TestApp) {
    stock_the_shop(app).await;
    for tool in Tool::all(&app.agent).await {
        for name in tool.required() {
            let mut without = sound(&tool);
            without.remove(name);
            let refused = app.agent.call(&tool.name, json!(without)).await;
            assert_eq!(refused.code(), "invalid_params");
            assert_eq!(refused.body["error"]["field"], name, "{}", tool.name);
            let message = refused.body["error"]["message"].as_str().unwrap();
            assert!(message.contains(name), "{}: {message}", tool.name);
        }
    }
}

async fn stock_the_shop(app: &TestApp) {
    app.order("#1001", 90_000).await;
    app.product("SKU-1", 10).await;
}

/// The arguments as text, with this value for one of them.
fn with(arguments: &Map<String, Value>, name: &str, raw: &str) -> String {
    let mut others = arguments.clone();
    others.remove(name);
    before(&others, &format!("{}:{raw}", json!(name)))
}

/// The arguments as text, after one more member.
fn before(arguments: &Map<String, Value>, member: &str) -> String {
    let comma = if arguments.is_empty() { "" } else { "," };
    json!(arguments).to_string().replacen('{', &format!("{{{member}{comma}"), 1)
}
