//! Every tool's answers, at every turn of an action's life, held to the published schema and to a stricter one.

use countersign::store::people::Role;
use serde_json::{Value, json};

use crate::support::agent::Answer;
use crate::support::contract::Contract;
use crate::support::{Agent, TestApp, backends};

/// An agent whose every answer is held to its contract.
struct Held<'a> {
    agent: &'a Agent,
    contract: Contract,
}

impl Held<'_> {
    async fn call(&self, tool: &str, arguments: Value) -> Answer {
        let answer = self.agent.call(tool, arguments).await;
        self.contract.hold(tool, &answer);
        answer
    }

    async fn refund(&self, amount: i64) -> Value {
        let refund =
            json!({ "order_id": "1001", "amount_minor": amount, "currency": "INR", "reason": "Broken" });
        self.call("request_refund", refund).await.ok()
    }

    /// Looks at an action in every way there is.
    async fn look(&self, asked: &Value) -> Value {
        self.call("list_actions", json!({ "limit": 3 })).await.ok();
        self.call("get_action_status", json!({ "action_id": asked["action_id"] })).await.ok()
    }
}

backends!(every_answer_keeps_its_contract_from_request_to_end);
async fn every_answer_keeps_its_contract_from_request_to_end(app: &TestApp) {
    app.order("#1001", 90_000).await;
    let approver = app.person(Role::Approver).await;
    let agent = Held {
        agent: &app.agent,
        contract: Contract::of(&app.agent).await,
    };

    let executed = agent.refund(1).await;
    assert_eq!(agent.refund(1).await["disposition"], "joined");
    approver.approve(id(&executed)).await.ok();
    assert_eq!(agent.look(&executed).await["status"], "executed");
    assert_eq!(agent.refund(1).await["disposition"], "replayed");

    let rejected = agent.refund(2).await;
    approver.reject(id(&rejected), "Not this one").await.ok();
    assert_eq!(agent.look(&rejected).await["decision"]["reason"], "Not this one");

    let failed = agent.refund(89_999).await;
    let sooner = agent.refund(3).await;
    approver.approve(id(&sooner)).await.ok();
    approver.approve(id(&failed)).await.ok();
    assert_eq!(agent.look(&failed).await["refusal"]["rule"], "exceeds_refundable");

    let withdrawn = agent.refund(4).await;
    agent.call("withdraw_action", json!({ "action_id": id(&withdrawn) })).await.ok();
    let again = agent.refund(4).await;
    assert_eq!((&again["attempt"], &again["previous_action_id"]), (&json!(2), &withdrawn["action_id"]));
    app.inner.clock.shift(chrono::TimeDelta::minutes(31));
    assert_eq!(agent.look(&again).await["status"], "expired");

    let order = agent.call("get_order", json!({ "order_id": "1001" })).await.ok();
    assert_eq!(order["refunds"].as_array().unwrap().len(), 2);
}

backends!(every_kind_answers_what_it_did);
async fn every_kind_answers_what_it_did(app: &TestApp) {
    app.order("#1001", 90_000).await;
    app.product("SKU-1", 10).await;
    let approver = app.person(Role::Approver).await;
    let agent = Held {
        agent: &app.agent,
        contract: Contract::of(&app.agent).await,
    };
    for (tool, arguments, result) in [
        (
            "request_stock_adjustment",
            json!({ "sku": "SKU-1", "delta": -4 }),
            json!({ "sku": "SKU-1", "delta": -4, "stock": 6 }),
        ),
        (
            "request_refund",
            json!({ "order_id": "1001", "amount_minor": 30_000, "currency": "INR" }),
            json!({ "refunded_minor": 30_000, "refunded_text": "INR 300.00", "currency": "INR",
                "financial_status": "partially_refunded" }),
        ),
        (
            "request_order_cancellation",
            json!({ "order_id": "1001" }),
            json!({ "restocked": [{ "sku": "SKU-1", "delta": 3, "stock": 9 }], "currency": "INR",
                "owed_minor": 60_000, "owed_text": "INR 600.00" }),
        ),
    ] {
        let mut arguments = arguments;
        arguments["reason"] = json!("As the customer asked");
        let asked = agent.call(tool, arguments).await.ok();
        approver.approve(id(&asked)).await.ok();
        let mut executed = agent.look(&asked).await;
        if tool == "request_order_cancellation" {
            executed["result"].as_object_mut().unwrap().remove("cancelled_at").unwrap();
        }
        assert_eq!(executed["result"], result, "{tool}");
    }
    let order = agent.call("get_order", json!({ "order_id": "#1001" })).await.ok();
    assert!(order["cancelled_at"].is_string(), "{order}");
    assert_eq!(agent.call("check_stock", json!({ "sku": "SKU-1" })).await.ok()["stock"], 9);
}

backends!(lists_come_in_pages_and_each_item_once);
async fn lists_come_in_pages_and_each_item_once(app: &TestApp) {
    for number in 1..=5 {
        app.order(&format!("#{number}"), 90_000).await;
        app.product(&format!("SKU-{number}"), number).await;
    }
    let agent = Held {
        agent: &app.agent,
        contract: Contract::of(&app.agent).await,
    };
    for (tool, list, id) in [("search_orders", "orders", "order_id"), ("list_products", "products", "sku")] {
        let (mut seen, mut page) = (Vec::new(), json!({ "limit": 2 }));
        loop {
            let answer = agent.call(tool, page).await.ok();
            seen.extend(answer[list].as_array().unwrap().iter().map(|item| item[id].to_string()));
            let Some(cursor) = answer.get("next_cursor") else { break };
            page = json!({ "limit": 2, "cursor": cursor });
        }
        assert_eq!(seen.len(), 5, "{tool}: {seen:?}");
        seen.dedup();
        assert_eq!(seen.len(), 5, "{tool}: {seen:?}");
    }
}

backends!(every_tool_answers_an_error_within_its_contract);
async fn every_tool_answers_an_error_within_its_contract(app: &TestApp) {
    let agent = Held {
        agent: &app.agent,
        contract: Contract::of(&app.agent).await,
    };
    for tool in app.agent.tools().await {
        let name = tool["name"].as_str().unwrap();
        let refused = agent.call(name, json!({ "no_such_argument": 1 })).await;
        assert_eq!(refused.code(), "invalid_params", "{name}");
    }
    let refused = agent.call("get_order", json!({ "order_id": "1" })).await;
    assert_eq!((refused.code(), &refused.body["error"]["field"]), ("not_found", &json!("order_id")));
}

fn id(action: &Value) -> &str {
    action["action_id"].as_str().unwrap()
}
