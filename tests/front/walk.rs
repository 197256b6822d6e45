//! The whole way, through every door an agent has: it reads, asks, a person looks and approves in the browser, with
//! JavaScript and without, and the agent is told.

use countersign::store::people::Role;
use serde_json::json;
use tokio::process::Command;

use crate::support::program::Program;
use crate::support::{Browser, Client, Era, TestApp, in_browser};

in_browser!(over_http);
async fn over_http(app: &TestApp, browser: &Browser) {
    let client = Client::over_http(&app.agent, Era::Discovery).await;
    walk(app, browser, client).await;
}

in_browser!(over_http_by_an_older_client_to_a_person_without_javascript);
async fn over_http_by_an_older_client_to_a_person_without_javascript(app: &TestApp, browser: &Browser) {
    browser.without_javascript().await;
    let client = Client::over_http(&app.agent, Era::Handshake("2025-06-18")).await;
    walk(app, browser, client).await;
}

in_browser!(through_the_bridge);
async fn through_the_bridge(app: &TestApp, browser: &Browser) {
    let program = Program::bare().with("COUNTERSIGN_URL", &app.url);
    walk(app, browser, over_stdio(app, program).await).await;
}

in_browser!(through_the_bridge_to_a_person_without_javascript);
async fn through_the_bridge_to_a_person_without_javascript(app: &TestApp, browser: &Browser) {
    browser.without_javascript().await;
    let program = Program::bare().with("COUNTERSIGN_URL", &app.url);
    walk(app, browser, over_stdio(app, program).await).await;
}

in_browser!(straight_on_the_database_beside_the_server);
async fn straight_on_the_database_beside_the_server(app: &TestApp, browser: &Browser) {
    let program = Program::on(&app.database).with("COUNTERSIGN_PUBLIC_URL", &app.url);
    walk(app, browser, over_stdio(app, program).await).await;
}

async fn over_stdio(app: &TestApp, program: Program) -> Client {
    let program = program.with("COUNTERSIGN_AGENT_KEY", &app.agent.key);
    Client::over_stdio(Command::from(program.command(&["mcp"])), Era::Handshake("2025-11-25")).await
}

async fn walk(app: &TestApp, browser: &Browser, client: Client) {
    app.order("#1001", 50_000).await;
    let order = client.call("get_order", json!({ "order_id": "1001" })).await.ok();
    let refund = json!({ "order_id": order["order_id"], "amount_minor": 12_000, "currency": order["currency"],
        "reason": "Arrived broken" });
    let asked = client.call("request_refund", refund).await.ok();
    assert_eq!((&asked["status"], app.order_now("#1001").await.refunded_minor), (&json!("pending"), 0));

    // The person follows the link that the agent was given.
    let page = asked["review_url"].as_str().unwrap().strip_prefix(&app.url).unwrap();
    browser.sign_in(app.person(Role::Approver).await).await;
    browser.goto(page).await;
    browser.see("Arrived broken").await;
    browser.see("INR 380.00").await;
    browser.click("Approve INR 120.00").await;
    browser.see("Approved by approver@example.com").await;

    let waiting = json!({ "action_id": asked["action_id"], "wait_seconds": 10 });
    let told = client.call("get_action_status", waiting).await.ok();
    assert_eq!(
        (&told["status"], &told["decision"]["by"]),
        (&json!("executed"), &json!("approver@example.com"))
    );
    assert_eq!(told["result"]["refunded_text"], "INR 120.00");
    let order = client.call("get_order", json!({ "order_id": "1001" })).await.ok();
    assert_eq!(
        (&order["refunded_minor"], &order["financial_status"]),
        (&json!(12_000), &json!("partially_refunded"))
    );
    assert_eq!(order["refunds"][0]["action_id"], asked["action_id"]);
    client.close().await;
}
