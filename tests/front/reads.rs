//! The shop's read tools, in the demo shop: filters, pages, and what is not found.

use countersign::shop::import;
use serde_json::{Value, json};

use crate::support::{Agent, TestApp, backends};

/// Every item of a list, page by page.
async fn all(agent: &Agent, tool: &str, items: &str, mut arguments: Value) -> Vec<Value> {
    let mut found = Vec::new();
    loop {
        let page = agent.call(tool, arguments.clone()).await.ok();
        let one = page[items].as_array().unwrap();
        assert!(one.len() <= 50, "{} on a page", one.len());
        found.extend(one.iter().cloned());
        match page.get("next_cursor") {
            Some(cursor) => arguments["cursor"] = cursor.clone(),
            None => return found,
        }
    }
}

async fn names(app: &TestApp, arguments: Value) -> Vec<String> {
    let orders = all(&app.reader, "search_orders", "orders", arguments).await;
    orders.iter().map(|order| order["order_id"].as_str().unwrap().to_owned()).collect()
}

backends!(pages_lead_through_every_order_once_newest_first);
async fn pages_lead_through_every_order_once_newest_first(app: &TestApp) {
    import::seed(&app.inner.db).await.unwrap();
    for limit in [7, 50] {
        let orders = all(&app.reader, "search_orders", "orders", json!({ "limit": limit })).await;
        assert_eq!(orders.len(), 200);
        assert!(
            orders.is_sorted_by(|newer, older| newer["created_at"].as_str() >= older["created_at"].as_str())
        );
        let mut names: Vec<_> = orders.iter().map(|order| order["order_id"].as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 200);
        assert!(orders[0].get("lines").is_none() && orders[0].get("id").is_none(), "{}", orders[0]);
    }
    let first = app.reader.call("search_orders", json!({})).await.ok();
    assert_eq!(first["orders"].as_array().unwrap().len(), 20);
    let cursor = first["next_cursor"].as_str().unwrap();
    for other in [&cursor[1..], "IzE", "!"] {
        let refused = app.reader.call("search_orders", json!({ "cursor": other })).await;
        assert_eq!((refused.code(), &refused.body["error"]["field"]), ("invalid_params", &json!("cursor")));
    }
}

backends!(orders_are_found_by_what_is_known_of_them);
async fn orders_are_found_by_what_is_known_of_them(app: &TestApp) {
    import::seed(&app.inner.db).await.unwrap();
    assert_eq!(names(app, json!({ "query": "#1044" })).await, ["#1044"]);
    assert_eq!(names(app, json!({ "query": "  CUSTOMER@Example " })).await.len(), 3);
    let hers = names(app, json!({ "email": "Sneha.Kulkarni@example.com" })).await;
    assert_eq!(hers, ["#1196", "#1194", "#1160", "#1125", "#1089", "#1051", "#1050", "#1026", "#1024"]);
    assert!(names(app, json!({ "email": "sneha.kulkarni" })).await.is_empty(), "the whole address");
    for wild in ["%", "_", "\\", "1044%", "' OR 1=1 --"] {
        assert!(names(app, json!({ "query": wild })).await.is_empty(), "{wild} stands for itself");
    }
    let both = json!({ "financial_status": "refunded", "fulfillment_status": "fulfilled" });
    for order in all(&app.reader, "search_orders", "orders", both).await {
        assert_eq!(
            (&order["financial_status"], &order["fulfillment_status"]),
            (&json!("refunded"), &json!("fulfilled"))
        );
        assert_eq!(order["refunded_minor"], order["total_minor"]);
    }
    let day =
        json!({ "created_after": "2025-12-06T21:06:15+05:30", "created_before": "2025-12-06T15:36:17Z" });
    assert_eq!(names(app, day).await, ["#1044"]);
    let instant =
        json!({ "created_after": "2025-12-06T15:36:16Z", "created_before": "2025-12-07T00:00:00Z" });
    assert!(!names(app, instant).await.contains(&"#1044".to_owned()), "after means after");
    for bad in ["yesterday", "2025-12-06", ""] {
        let refused = app.reader.call("search_orders", json!({ "created_after": bad })).await;
        assert_eq!(refused.body["error"]["field"], "created_after", "{bad}");
    }
    let refused = app.reader.call("search_orders", json!({ "financial_status": "owed" })).await;
    assert!(
        refused.body["error"]["message"].as_str().unwrap().contains("partially_refunded"),
        "{refused:?}"
    );
}

backends!(products_are_listed_by_sku_and_looked_up_as_stored);
async fn products_are_listed_by_sku_and_looked_up_as_stored(app: &TestApp) {
    import::seed(&app.inner.db).await.unwrap();
    let products = all(&app.reader, "list_products", "products", json!({ "limit": 13 })).await;
    assert_eq!(products.len(), 62);
    assert!(products.is_sorted_by(|one, next| one["sku"].as_str() < next["sku"].as_str()));
    let coffee = all(&app.reader, "list_products", "products", json!({ "query": "COFFEE beans" })).await;
    assert_eq!(coffee.len(), 3, "{coffee:?}");

    let stock = app.reader.call("check_stock", json!({ "sku": " WH-BT-001 " })).await.ok();
    assert_eq!((&stock["sku"], &stock["stock"]), (&json!("WH-BT-001"), &json!(84)));
    assert!(stock["as_of"].as_str().unwrap().ends_with('Z'));
    // In lower case, with a Cyrillic letter, with an invisible one: not this product.
    for other in ["wh-bt-001", "WH-ВT-001", "WH-BT-001\u{200b}"] {
        let refused = app.reader.call("check_stock", json!({ "sku": other })).await;
        assert_eq!(
            (refused.code(), &refused.body["error"]["field"]),
            ("not_found", &json!("sku")),
            "{other}"
        );
    }
}

backends!(stock_is_as_of_the_databases_time);
async fn stock_is_as_of_the_databases_time(app: &TestApp) {
    app.product("SKU-1", 10).await;
    let sku = json!({ "sku": "SKU-1" });
    let before = app.agent.call("check_stock", sku.clone()).await.ok();
    app.inner.clock.shift(chrono::TimeDelta::days(400));
    let after = app.agent.call("check_stock", sku).await.ok();
    let year = |answer: &Value| answer["as_of"].as_str().unwrap()[..4].parse::<i32>().unwrap();
    assert!(year(&after) > year(&before), "{before} {after}");
}
