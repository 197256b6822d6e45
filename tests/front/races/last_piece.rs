//! Stock −1 twice from 1: one executes, one fails with the rule.

use countersign::store::people::Role;
use serde_json::Value;

use super::{CONTENDERS, ROUNDS};
use crate::support::races::{race, repeat};
use crate::support::shop::{adjustment, with_key};
use crate::support::{TestApp, races};

races!(the_last_piece_goes_once);

async fn the_last_piece_goes_once(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let windows = person.windows(CONTENDERS);
    repeat("the last piece", app.database.backend, ROUNDS, async |round| {
        let sku = app.product(&format!("SKU-{round}"), 1).await.sku;
        let books = app.books();
        let mut asked = Vec::new();
        for shelf in ["left", "right"] {
            let arguments = with_key(adjustment(&sku, -1), format!("{shelf} {round}"));
            asked.push(app.ask("request_stock_adjustment", arguments).await);
        }
        let mut seen = Vec::new();
        for action in &asked {
            seen.push(person.action_alone(action).await);
        }

        let approvals =
            windows.iter().enumerate().map(|(number, window)| window.approving(&seen[number % 2]));
        let replies = race(approvals).await;

        let (ended, lost): (Vec<_>, Vec<_>) = replies.into_iter().partition(|reply| reply.status == 200);
        assert!(lost.iter().all(|reply| reply.code() == "already_decided"));
        let mut rules: Vec<Value> = ended.iter().map(|reply| reply.body["refusal"]["rule"].clone()).collect();
        rules.sort_by_key(Value::is_string);
        assert_eq!(rules, [Value::Null, "stock_below_zero".into()]);
        assert_eq!(app.stock_now(&sku).await, 0);
        books.balance();
    })
    .await;
}
