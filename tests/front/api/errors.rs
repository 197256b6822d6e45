//! What goes wrong, as problem documents. A snapshot of each, because programs are written against them.

use std::fmt::Write as _;

use countersign::store::people::Role;
use reqwest::{Method, RequestBuilder, StatusCode, header};
use serde_json::{Value, json};

use super::refund;
use crate::support::{TestApp, backends};

const JSON: &str = "application/json";

backends!(what_can_go_wrong_with_a_request);
async fn what_can_go_wrong_with_a_request(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let id = refund(app, "#1001", 100).await;
    let approve = format!("/api/v1/actions/{id}/approve");
    let reject = format!("/api/v1/actions/{id}/reject");
    let unknown = "/api/v1/actions/01995a3e-8f0c-7c21-b6d4-2f9e0a1b3c4d";
    let gets = [
        "/api/v1/actions?limit=0",
        "/api/v1/actions?limit=51",
        "/api/v1/actions?limit=1.0",
        "/api/v1/actions?status=done",
        "/api/v1/actions?kind=transfer",
        "/api/v1/actions?agent=nobody",
        "/api/v1/actions?cursor=1",
        "/api/v1/actions?offset=1",
        "/api/v1/actions?kind=refund&kind=refund",
        "/api/v1/actions?agent=%00",
        "/api/v1/actions?agent=LONG",
        "/api/v1/actions/1001",
        "/api/v1/actions/%ff",
        "/api/v1/actions/' OR 1=1 --",
        unknown,
        "/api/v1/actions/01995a3e-8f0c-7c21-b6d4-2f9e0a1b3c4d?full=1",
        "/api/v1/audit?since=yesterday",
        "/api/v1/audit?since=-200000-01-01",
        "/api/v1/audit?until=%2B200000-01-01",
        "/api/v1/audit?denied=yes",
        "/api/v1/audit?category=everything",
        "/api/v1/audit?actor=nobody",
        "/api/v1/audit?action=1001",
        "/api/v1/audit?cursor=-1",
        "/api/v1/nothing",
        "/api",
        "/api/openapi.json?pretty=1",
    ];
    let digest = "0".repeat(64);
    let long = "x".repeat(1001);
    let bodies: [(&str, &str, String); 23] = [
        (&approve, JSON, String::new()),
        (&approve, JSON, "{".into()),
        (&approve, JSON, "[]".into()),
        (&approve, JSON, "{}".into()),
        (&approve, JSON, r#"{"digest": 1}"#.into()),
        (&approve, JSON, r#"{"digest": null}"#.into()),
        (&approve, JSON, r#"{"digest": ""}"#.into()),
        (&approve, JSON, r#"{"digest": "a", "digest": "b"}"#.into()),
        (&approve, JSON, r#"{"digest": "a", "reason": "b"}"#.into()),
        (&approve, JSON, r#"{"digest": "a\u0000"}"#.into()),
        (&approve, JSON, r#"{"digest": "a", "subject_versions": {"order:#1001": 1.0}}"#.into()),
        (&approve, JSON, r#"{"digest": "a", "subject_versions": {"order:#1001": "1"}}"#.into()),
        (&approve, JSON, r#"{"digest": "a", "subject_versions": []}"#.into()),
        (&approve, JSON, r#"{"digest": "a", "acknowledge": ["x"]}"#.into()),
        (&approve, JSON, json!({ "digest": digest, "note": long }).to_string()),
        (&approve, JSON, json!({ "digest": digest }).to_string()),
        (&approve, "text/plain", json!({ "digest": digest }).to_string()),
        (&approve, JSON, json!({ "digest": "x".repeat(70_000) }).to_string()),
        (&reject, JSON, json!({ "digest": digest }).to_string()),
        (&reject, JSON, json!({ "digest": digest, "reason": " \n" }).to_string()),
        (&reject, JSON, json!({ "digest": digest, "reason": long }).to_string()),
        (&reject, JSON, json!({ "digest": digest, "reason": "No", "note": "b" }).to_string()),
        ("/api/v1/actions/1001/approve", JSON, json!({ "digest": digest }).to_string()),
    ];

    let owner = app.person(Role::Owner).await;
    let before = app.rows().await;
    let mut seen = String::new();
    for path in gets {
        let address = path.replace("LONG", &long);
        let request = owner.http.get(format!("{}{address}", app.url)).bearer_auth(&owner.api_token);
        tell(&mut seen, &format!("GET {path}"), request).await;
    }
    for (path, media_type, body) in bodies {
        let request = owner.http.post(format!("{}{path}", app.url)).bearer_auth(&owner.api_token);
        let short: String = body.chars().take(80).collect();
        let name = format!("POST {} {short}", path.replace(&id, "ID"));
        tell(&mut seen, &name, request.header(header::CONTENT_TYPE, media_type).body(body)).await;
    }
    for (method, path) in
        [(Method::DELETE, unknown), (Method::GET, &approve), (Method::PUT, "/api/v1/actions")]
    {
        let request = owner.http.request(method.clone(), format!("{}{path}", app.url));
        tell(&mut seen, &format!("{method} {}", path.replace(&id, "ID")), request).await;
    }
    insta::assert_snapshot!("problems", seen);
    // Decisions alone are worth an event: one of another content, and those that could not be read, by what they were to do.
    app.only_denials_since(&before, 3).await;
}

backends!(who_is_not_let_in_is_told_how);
async fn who_is_not_let_in_is_told_how(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let id = refund(app, "#1001", 100).await;
    let viewer = app.person(Role::Viewer).await;
    let url = format!("{}/api/v1/actions/{id}/approve", app.url);
    let post = || viewer.http.post(&url).json(&json!({}));
    let mut seen = String::new();
    tell(&mut seen, "no token", post()).await;
    tell(&mut seen, "an agent key", post().bearer_auth(&app.agent.key)).await;
    tell(&mut seen, "a wrong token", post().bearer_auth("cs_p_x")).await;
    tell(
        &mut seen,
        "two tokens",
        post().bearer_auth(&viewer.api_token).bearer_auth(&viewer.api_token),
    )
    .await;
    tell(&mut seen, "another scheme", post().basic_auth("viewer", Some(&viewer.api_token))).await;
    tell(&mut seen, "a viewer", post().bearer_auth(&viewer.api_token)).await;
    insta::assert_snapshot!("turned_away", seen);
}

backends!(a_body_of_five_megabytes_is_refused_and_nothing_breaks);
async fn a_body_of_five_megabytes_is_refused_and_nothing_breaks(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let id = refund(app, "#1001", 100).await;
    let owner = app.person(Role::Owner).await;
    let large = json!({ "digest": "x".repeat(5_000_000) });
    let refused = owner.post(&format!("/actions/{id}/approve"), large).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::PAYLOAD_TOO_LARGE, "invalid_params"));
    assert_eq!(owner.approve(&id).await.ok()["status"], "executed");
}

/// Writes down the whole answer, as far as programs read it.
async fn tell(seen: &mut String, name: &str, request: RequestBuilder) {
    let response = request.send().await.unwrap();
    writeln!(seen, "{name}").unwrap();
    write!(seen, "  {}", response.status().as_u16()).unwrap();
    for header in [header::ALLOW, header::RETRY_AFTER, header::WWW_AUTHENTICATE] {
        if let Some(value) = response.headers().get(&header) {
            write!(seen, "  {header}: {}", value.to_str().unwrap()).unwrap();
        }
    }
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json", "{name}");
    let status = response.status().as_u16();
    let mut problem: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    let members = problem.as_object_mut().unwrap();
    assert_eq!(members.remove("status"), Some(json!(status)), "{name}");
    let code = members.remove("code").unwrap();
    let kind = format!("urn:countersign:problem:{}", code.as_str().unwrap());
    assert_eq!(members.remove("type"), Some(json!(kind)), "{name}");
    members.remove("title");
    writeln!(seen, "  {}", code.as_str().unwrap()).unwrap();
    for (name, value) in members {
        writeln!(seen, "  {name}: {value}").unwrap();
    }
}
