//! Who gets in, and from where.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::run::Fixture;
use crate::support::{Backend, TestApp, backends};

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

backends!(without_a_good_key_the_answer_is_401_and_names_the_scheme);
async fn without_a_good_key_the_answer_is_401_and_names_the_scheme(app: &TestApp) {
    let key = &app.agent.key;
    let person = &app.person(countersign::store::people::Role::Owner).await.api_token;
    let (bare, basic, longer) = (key.clone(), format!("Basic {key}"), format!("Bearer {key}0"));
    let (person, other) = (format!("Bearer {person}"), format!("Bearer {}", other_digits(key)));
    for wrong in ["", "Bearer", "Bearer ", "Bearer cs_a_", &bare, &basic, &longer, &person, &other] {
        let request = app.agent.http.post(&app.agent.endpoint).header("content-type", "application/json");
        let request = if wrong.is_empty() { request } else { request.header("authorization", wrong) };
        let response = request.body(LIST).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{wrong}");
        let challenge = response.headers()["www-authenticate"].to_str().unwrap();
        assert!(challenge.starts_with("Bearer"), "{challenge}");
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["error"]["code"], "unauthenticated", "{wrong}");
    }
}

backends!(no_web_page_reaches_it_by_another_name_or_from_another_origin);
async fn no_web_page_reaches_it_by_another_name_or_from_another_origin(app: &TestApp) {
    let sent = async |name: &str, value: &str| {
        let response = app.agent.request().header(name, value).body(LIST).send().await.unwrap();
        let status = response.status();
        (status, response.json::<Value>().await.unwrap()["error"]["code"].clone())
    };
    let foreign = [("host", "evil.example"), ("origin", "https://evil.example"), ("origin", "null")];
    for (name, value) in foreign {
        assert_eq!(sent(name, value).await, (StatusCode::FORBIDDEN, json!(-32600)), "{name}: {value}");
    }
    let own = [("host", "localhost"), ("host", "192.168.1.5:8080"), ("origin", app.url.as_str())];
    for (name, value) in own {
        assert_eq!(sent(name, value).await, (StatusCode::OK, Value::Null), "{name}: {value}");
    }
}

backends!(behind_a_trusted_proxy_the_name_is_the_proxys_matter);
async fn behind_a_trusted_proxy_the_name_is_the_proxys_matter(backend: &Backend) {
    let proxies = Some("127.0.0.0/8".parse().unwrap());
    let app = TestApp::with(*backend, |config| config.trusted_proxies = proxies).await;
    let sent = async |name: &str, value: &str| {
        let request = app.agent.request().header("host", "upstream:8080").header(name, value);
        request.body(LIST).send().await.unwrap().status()
    };
    assert_eq!(sent("origin", &app.url).await, StatusCode::OK);
    assert_eq!(sent("origin", "http://upstream:8080").await, StatusCode::FORBIDDEN);
    app.tear_down().await;
}

backends!(nothing_of_a_batch_is_done);
async fn nothing_of_a_batch_is_done(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let refund = json!({ "order_id": "1001", "amount_minor": 1, "currency": "INR", "reason": "Broken" });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "request_refund", "arguments": refund } });
    for batch in [json!([call]), json!([call, call]), json!([])] {
        let (status, body) = app.agent.post(batch.to_string()).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &body["error"]["code"]), (StatusCode::BAD_REQUEST, &json!(-32600)));
    }
    assert_eq!(app.agent.call("list_actions", json!({})).await.ok()["actions"], json!([]));
}

backends!(no_authorization_server_is_advertised);
async fn no_authorization_server_is_advertised(app: &TestApp) {
    let well_known = [
        "oauth-protected-resource",
        "oauth-protected-resource/mcp",
        "oauth-authorization-server",
        "oauth-authorization-server/mcp",
        "openid-configuration",
    ];
    for name in well_known {
        let url = format!("{}/.well-known/{name}", app.url);
        assert_eq!(app.agent.http.get(url).send().await.unwrap().status(), StatusCode::NOT_FOUND, "{name}");
    }
}

backends!(there_are_no_sessions_and_no_streams);
async fn there_are_no_sessions_and_no_streams(app: &TestApp) {
    for method in [Method::GET, Method::DELETE, Method::PUT] {
        let request = app.agent.http.request(method.clone(), &app.agent.endpoint).bearer_auth(&app.agent.key);
        let response = request.header("accept", "text/event-stream").send().await.unwrap();
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
    }
}

/// A key in the right form that nobody was given.
fn other_digits(key: &str) -> String {
    let (prefix, digits) = key.split_at("cs_a_".len());
    prefix.to_owned() + &digits.chars().rev().collect::<String>()
}
