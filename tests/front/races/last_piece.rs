//! Stock −1 twice from 1: one executes, one fails with the rule.

use countersign::store::people::Role;
use serde_json::Value;

use super::{CONTENDERS, ROUNDS};
use crate::support::held::GatedApp;
use crate::support::races::{race, repeat};
use crate::support::shop::{adjustment, with_key};
use crate::support::{Person, TestApp, backends, races};

races!(the_last_piece_goes_once);
backends!(the_second_sees_that_it_is_gone);

async fn the_last_piece_goes_once(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let windows = person.windows(CONTENDERS);
    repeat("the last piece", app.database.backend, ROUNDS, async |round| {
        let sku = app.product(&format!("SKU-{round}"), 1).await.sku;
        let books = app.books();
        let seen = asked(app, person, &sku).await;

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

async fn the_second_sees_that_it_is_gone(GatedApp { app, gate }: &GatedApp) {
    let person = app.person(Role::Approver).await;
    repeat("the last piece, one before the other", app.database.backend, ROUNDS, async |round| {
        let sku = app.product(&format!("SKU-{round}"), 1).await.sku;
        let books = app.books();
        let mut seen = asked(app, person, &sku).await;
        seen.rotate_left(round % 2);

        gate.shut();
        let first = tokio::spawn(person.approving(&seen[0]));
        gate.until_reached().await;
        let second = tokio::spawn(person.approving(&seen[1]));
        app.until_blocked(1, 1).await;
        gate.open();

        assert_eq!(first.await.unwrap().ok()["status"], "executed");
        assert_eq!(second.await.unwrap().ok()["refusal"]["rule"], "stock_below_zero");
        assert_eq!(app.stock_now(&sku).await, 0);
        books.balance();
    })
    .await;
}

/// Two requests for one piece less, as an approver sees them.
async fn asked(app: &TestApp, person: &Person, sku: &str) -> [Value; 2] {
    let mut asked = Vec::new();
    for shelf in ["left", "right"] {
        let arguments = with_key(adjustment(sku, -1), format!("{shelf} {sku}"));
        asked.push(app.ask("request_stock_adjustment", arguments).await);
    }
    [person.action_alone(&asked[0]).await, person.action_alone(&asked[1]).await]
}
