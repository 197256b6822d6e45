//! Tests through the front doors: MCP, the browser, REST, the command line; each on SQLite and on Postgres.
//!
//! A test is an async function that takes what it runs on; [`support::backends`] or [`support::in_browser`] makes it
//! two tests, `name::sqlite` and `name::postgres`. Databases, servers and browsers are made for it and go after it:
//!
//! ```ignore
//! in_browser!(a_refund_is_paid_once_approved);
//! async fn a_refund_is_paid_once_approved(app: &TestApp, browser: &Browser) {
//!     app.order("#1001", 50_000).await;
//!     let arguments = json!({ "order_id": "1001", "amount_minor": 100, "currency": "INR", "reason": "Broken" });
//!     let asked = app.agent.call("request_refund", arguments).await.ok();
//!     browser.sign_in(app.person(Role::Approver).await).await;
//!     browser.goto(&format!("/actions/{}", asked["action_id"].as_str().unwrap())).await;
//!     browser.click("Approve INR 1.00").await;
//!     browser.see("Approved by approver@example.com").await;
//!     assert_eq!(app.order_now("#1001").await.refunded_minor, 100);
//! }
//! ```
//!
//! - [`support::TestApp`]: the server, its people, its agents; `TestApp::with` takes settings of a test's own, in a
//!   test that runs on a `&Backend`.
//! - [`support::Agent`] calls tools, [`support::Client`] as a real MCP client does; [`support::Person`] decides through
//!   REST, [`support::Browser`] clicks.
//! - [`support::races`]: many at once, again and again, with the counts that `scripts/test --long` asks for.
//!
//! Plain `cargo test` covers SQLite without a browser, and says what it left out. `scripts/test` runs everything;
//! `COUNTERSIGN_TEST_BACKENDS=sqlite,postgres` and `COUNTERSIGN_TEST_BROWSER=1` do so for a test run by hand.

mod adversarial;
mod api;
mod append_only;
mod audit_export;
mod backup;
mod cli;
mod columns;
mod contract;
mod corpus;
mod demo;
mod failover;
mod failures;
mod growth;
mod harness;
mod health;
mod histories;
mod kills;
mod lost_answers;
mod mcp_http;
mod mcp_stdio;
mod migrations;
mod model;
mod neighbours;
mod notify;
mod outage;
mod overload;
mod packaging;
mod pages;
mod permissions;
mod races;
mod reads;
mod retries;
mod server_tls;
mod sessions;
mod statements;
mod support;
mod together;
mod trouble;
mod unwritten;
mod upgrades;
mod waiting;
mod walk;
