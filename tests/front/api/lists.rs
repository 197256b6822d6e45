//! `GET /api/v1/actions`.

use countersign::store::people::Role;
use serde_json::{Value, json};

use super::{id, refund};
use crate::support::{Person, TestApp, backends};

backends!(pages_follow_each_other_without_a_gap);
async fn pages_follow_each_other_without_a_gap(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let mut asked = Vec::new();
    for amount in 1..=7 {
        asked.push(refund(app, "#1001", amount).await);
    }
    asked.reverse();
    let viewer = app.person(Role::Viewer).await;
    for limit in [1, 3, 7, 50] {
        let (mut seen, mut address) = (Vec::new(), format!("/actions?limit={limit}"));
        loop {
            let page = viewer.get(&address).await.ok();
            seen.extend(ids(&page));
            let Some(cursor) = page.get("next_cursor") else { break };
            assert_eq!(page["actions"].as_array().unwrap().len(), limit);
            address = format!("/actions?limit={limit}&cursor={}", cursor.as_str().unwrap());
        }
        assert_eq!(seen, asked, "newest first, {limit} at a time");
    }
}

backends!(filters_narrow_a_list_down);
async fn filters_narrow_a_list_down(app: &TestApp) {
    app.order("#1001", 50_000).await;
    app.product("SKU-1", 10).await;
    let (first, second) = (refund(app, "#1001", 100).await, refund(app, "#1001", 200).await);
    let other = app.add_agent("stock clerk", &["inventory:write"]).await;
    let adjustment = json!({"sku": "SKU-1", "delta": 1, "reason": "Found one"});
    let third = id(&other.call("request_stock_adjustment", adjustment).await.ok());
    app.person(Role::Approver).await.approve(&first).await.ok();
    let viewer = app.person(Role::Viewer).await;

    for (filter, expected) in [
        ("", vec![&third, &second, &first]),
        ("?status=&kind=&agent=&cursor=&limit=", vec![&third, &second, &first]),
        ("?status=pending", vec![&third, &second]),
        ("?status=executed", vec![&first]),
        ("?status=expired", vec![]),
        ("?kind=stock_adjustment", vec![&third]),
        ("?agent=stock%20clerk", vec![&third]),
        ("?agent=assistant&kind=refund&status=pending", vec![&second]),
        ("?agent=reader", vec![]),
    ] {
        assert_eq!(
            listed(viewer, filter).await,
            expected.into_iter().cloned().collect::<Vec<_>>(),
            "{filter}"
        );
    }
    let page = viewer.get("/actions?agent=stock%20clerk").await.ok();
    assert_eq!(page["actions"][0]["agent"], "stock clerk");
    assert_eq!(page["actions"][0]["summary"], viewer.action(&third).await["summary"]);

    app.inner.clock.shift(chrono::TimeDelta::hours(1));
    assert_eq!(listed(viewer, "?status=pending").await, Vec::<String>::new());
    assert_eq!(listed(viewer, "?status=expired").await, [third, second]);
}

async fn listed(viewer: &Person, filter: &str) -> Vec<String> {
    ids(&viewer.get(&format!("/actions{filter}")).await.ok())
}

fn ids(page: &Value) -> Vec<String> {
    page["actions"].as_array().unwrap().iter().map(id).collect()
}
