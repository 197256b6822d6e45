//! The tool list: what it holds, how long it is, and that no client chokes on it.

use serde_json::{Value, json};

use crate::support::{TestApp, backends, settings};

/// What a whole list may cost an agent, in tokens of about four characters.
const TOKENS: usize = 3000;

backends!(an_agent_with_every_scope_is_shown_every_tool);
async fn an_agent_with_every_scope_is_shown_every_tool(app: &TestApp) {
    let tools = app.agent.tools().await;
    insta::assert_snapshot!("tools", serde_json::to_string_pretty(&tools).unwrap());
    assert_eq!(app.agent.tools().await, tools, "the order never changes");
}

backends!(a_reader_is_shown_the_same_tools_without_the_requests);
async fn a_reader_is_shown_the_same_tools_without_the_requests(app: &TestApp) {
    let tools = app.reader.tools().await;
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    insta::assert_snapshot!("tools_of_a_reader", names.join("\n"));
    let all = app.agent.tools().await;
    let without: Vec<_> = all.iter().filter(|tool| !is_request(tool)).cloned().collect();
    assert_eq!(tools, without);
}

backends!(the_whole_list_is_short);
async fn the_whole_list_is_short(app: &TestApp) {
    let tools = app.agent.tools().await;
    let tokens = json!(tools).to_string().len() / 4;
    settings::figure(&format!("the list of {} tools: about {tokens} tokens", tools.len()));
    assert!(tokens < TOKENS, "{tokens}");
}

backends!(every_tool_says_what_it_does_to_the_world);
async fn every_tool_says_what_it_does_to_the_world(app: &TestApp) {
    for tool in app.agent.tools().await {
        let (name, hints) = (tool["name"].as_str().unwrap(), &tool["annotations"]);
        let reads = !is_request(&tool) && name != "withdraw_action";
        assert_eq!(hints["readOnlyHint"], reads, "{name}");
        assert_eq!(hints["idempotentHint"], true, "{name}: a repetition does nothing twice");
        assert_eq!(hints["openWorldHint"], false, "{name}");
        assert!(hints["destructiveHint"] == false || is_request(&tool), "{name}");
        assert!(tool["title"].as_str().is_some_and(|title| !title.is_empty()), "{name}");

        let description = tool["description"].as_str().unwrap();
        if is_request(&tool) {
            assert!(description.contains("nothing has happened"), "{name} says what comes after");
            assert!(!description.contains("idempotency_key"), "{name} suggests no key per attempt");
            assert_eq!(tool["inputSchema"]["properties"]["reason"]["type"], "string", "{name}");
        }
    }
}

backends!(no_schema_holds_what_clients_choke_on);
async fn no_schema_holds_what_clients_choke_on(app: &TestApp) {
    for tool in app.agent.tools().await {
        let name = tool["name"].as_str().unwrap();
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name} is closed");
        for part in ["inputSchema", "outputSchema"] {
            let schema = &tool[part];
            assert_eq!(schema["type"], "object", "{name} {part}");
            assert!(schema["properties"].is_object(), "{name} {part}");
            walk(schema, &format!("{name} {part}"));
        }
        assert_eq!(
            tool["outputSchema"]["properties"]["error"]["type"], "object",
            "{name} may answer an error"
        );
        assert_eq!(tool["outputSchema"]["required"], Value::Null, "{name} requires nothing of both");
    }
}

/// Looks at a schema and everything below it.
fn walk(schema: &Value, at: &str) {
    let object = schema.as_object().unwrap_or_else(|| panic!("{at} is {schema}"));
    for (keyword, value) in object {
        let at = format!("{at}/{keyword}");
        match keyword.as_str() {
            "properties" => {
                for (name, property) in value.as_object().unwrap() {
                    walk(property, &format!("{at}/{name}"));
                }
            }
            "items" => walk(value, &at),
            "additionalProperties" => assert_eq!(value, false, "{at}"),
            "type" => assert!(value.is_string(), "{at}: {value}"),
            "enum" => assert!(value.as_array().unwrap().iter().all(Value::is_string), "{at}: {value}"),
            "format" => assert!(matches!(value.as_str(), Some("date-time")), "{at}: {value}"),
            "required" | "description" | "default" | "pattern" => {}
            "minimum" | "maximum" | "minLength" | "maxLength" => assert!(value.is_i64(), "{at}: {value}"),
            _ => panic!("{at}: a keyword that some client may not know"),
        }
    }
}

fn is_request(tool: &Value) -> bool {
    tool["name"].as_str().unwrap().starts_with("request_")
}
