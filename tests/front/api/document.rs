//! `/api/openapi.json` says what the server does.

use std::collections::BTreeSet;

use countersign::api::ROOT;
use countersign::app::routes;
use countersign::error::Code;
use countersign::http;
use countersign::paging;
use countersign::store::actions::Status;
use countersign::store::people::Role;
use countersign::workflow::note;
use serde_json::{Value, json};

use super::refund;
use crate::support::{TestApp, backends};

backends!(the_document_has_the_rows_of_the_table);
async fn the_document_has_the_rows_of_the_table(app: &TestApp) {
    let document = document(app).await;
    let (mut described, mut names) = (BTreeSet::new(), BTreeSet::new());
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            described.insert(format!("{} {path}", method.to_uppercase()));
            assert!(names.insert(operation["operationId"].as_str().unwrap()), "{path}: {operation}");
        }
    }
    let table = routes();
    let rows = table.iter().filter(|row| row.path.starts_with(ROOT));
    assert_eq!(described, rows.map(|row| format!("{} {}", row.method, row.path)).collect());
}

backends!(the_document_names_every_code_and_status);
async fn the_document_names_every_code_and_status(app: &TestApp) {
    let document = document(app).await;
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["CodeName"]["enum"], json!(Code::ALL.map(Code::as_str)));
    let statuses: Vec<_> = Status::ALL.iter().map(|status| status.as_str()).collect();
    assert_eq!(schemas["StatusName"]["enum"], json!(statuses));

    let operations = document["paths"].as_object().unwrap().iter().flat_map(|(path, operations)| {
        operations.as_object().unwrap().values().map(move |operation| (path, operation))
    });
    for (path, operation) in operations.filter(|(path, _)| path.starts_with("/api/v1/")) {
        assert_eq!(operation["security"], json!([{"api_token": []}]), "{path}");
        for code in Code::ALL {
            let response = &operation["responses"][http::status(code).to_string()];
            assert!(response["description"].as_str().unwrap().contains(code.as_str()), "{path}: {response}");
        }
    }
}

backends!(the_document_has_the_limits_of_the_code);
async fn the_document_has_the_limits_of_the_code(app: &TestApp) {
    let document = document(app).await;
    for (body, text) in [("ApproveBody", "note"), ("RejectBody", "reason")] {
        let text = &document["components"]["schemas"][body]["properties"][text];
        assert_eq!(text["maxLength"], json!(note::MAX_CHARS), "{body}");
    }
    for list in ["actions", "audit"] {
        let parameters =
            document["paths"][format!("{ROOT}/v1/{list}")]["get"]["parameters"].as_array().unwrap();
        let limit = parameters.iter().find(|parameter| parameter["name"] == "limit").unwrap();
        let (most, usual) = (&limit["schema"]["maximum"], &limit["schema"]["default"]);
        assert_eq!((most, usual), (&json!(paging::MAX_LIMIT), &json!(paging::DEFAULT_LIMIT)), "{list}");
    }
}

backends!(answers_are_what_the_document_says);
async fn answers_are_what_the_document_says(app: &TestApp) {
    let document = document(app).await;
    app.order("#1001", 50_000).await;
    let (one, other) = (refund(app, "#1001", 100).await, refund(app, "#1001", 200).await);
    let owner = app.person(Role::Owner).await;

    let pending = owner.action(&one).await;
    hold(&document, "ActionDetail", &pending);
    hold(&document, "ActionDetail", &owner.approve(&one).await.ok());
    hold(&document, "ActionDetail", &owner.reject(&other, "No").await.ok());
    hold(&document, "Page", &owner.get("/actions?limit=1").await.ok());
    hold(&document, "LogPage", &owner.get("/audit?limit=1").await.ok());
    hold(&document, "Problem", &owner.approve_as_seen(&pending).await.body);
    hold(&document, "Problem", &owner.get("/actions?limit=0").await.body);
    let decision =
        json!({ "digest": pending["digest"], "subject_versions": pending["subject_versions"], "note": "" });
    hold(&document, "ApproveBody", &decision);
    hold(&document, "RejectBody", &json!({ "digest": pending["digest"], "reason": "No" }));
}

async fn document(app: &TestApp) -> Value {
    let response = reqwest::get(format!("{}/api/openapi.json", app.url)).await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

/// Holds a value to a schema of the document, closed: a member that is not described is as wrong as one of another type.
#[track_caller]
fn hold(document: &Value, name: &str, value: &Value) {
    let schema = json!({
        "$ref": format!("#/components/schemas/{name}"),
        "components": document["components"],
        "unevaluatedProperties": false,
    });
    let broken: Vec<_> = jsonschema::validator_for(&schema)
        .unwrap()
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(broken.is_empty(), "{name}: {value:#}\n{broken:#?}");
}
