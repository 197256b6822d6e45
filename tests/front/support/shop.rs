//! Orders and products for a test, as plain as they can be.

use std::fmt::Debug;

use countersign::db::Timestamp;
use countersign::kinds::Lock;
use countersign::shop::tables::fold;
use countersign::shop::tables::orders::{self, FinancialStatus, FulfillmentStatus, Line, Order};
use countersign::shop::tables::products::{self, Product};
use countersign::store::new_id;

use serde_json::{Value, json};

use super::TestApp;

/// The arguments of a cancellation's request.
pub fn cancellation(order: &str) -> Value {
    json!({ "order_id": order, "reason": "Ordered twice" })
}

/// The arguments of a stock adjustment's request.
pub fn adjustment(sku: &str, delta: impl TryInto<i64, Error: Debug>) -> Value {
    let delta: i64 = delta.try_into().unwrap();
    json!({ "sku": sku, "delta": delta, "reason": "Counted" })
}

/// The arguments of a refund's request.
pub fn refund(order: &str, amount_minor: impl TryInto<i64, Error: Debug>) -> Value {
    let amount_minor = amount_minor.try_into().unwrap();
    json!({ "order_id": order, "amount_minor": amount_minor, "currency": "INR", "reason": "Arrived broken" })
}

impl TestApp {
    /// Asks for a write and answers the new action's id.
    pub async fn ask(&self, tool: &str, arguments: Value) -> String {
        let asked = self.agent.call(tool, arguments).await.ok();
        assert_eq!(asked["disposition"], "new");
        id(&asked).to_owned()
    }

    /// Puts a paid, unfulfilled order of one line into the shop: three pieces of `SKU-1` in INR.
    pub async fn order(&self, name: &str, total_minor: i64) -> Order {
        self.order_with(name, total_minor, |_| {}).await
    }

    /// The same order with some of it changed.
    pub async fn order_with(&self, name: &str, total_minor: i64, change: impl FnOnce(&mut Order)) -> Order {
        let email = "customer@example.com";
        let mut order = Order {
            id: new_id(),
            name: name.into(),
            email: email.into(),
            folded: fold(&format!("{name} {email}")),
            financial_status: FinancialStatus::Paid,
            fulfillment_status: FulfillmentStatus::Unfulfilled,
            cancelled_at: None,
            currency: "INR".into(),
            total_minor,
            refunded_minor: 0,
            created_at: Timestamp::default(),
            version: 1,
        };
        change(&mut order);
        let line = Line {
            order_id: order.id.clone(),
            position: 0,
            sku: "SKU-1".into(),
            name: "Kettle".into(),
            quantity: 3,
            price_minor: total_minor / 3,
        };
        let stored = order.clone();
        let write = move |conn: &mut _| {
            orders::insert(conn, &stored)?;
            orders::insert_line(conn, &line)
        };
        self.inner.db.write(write).await.unwrap();
        order
    }

    /// Puts a product into the shop.
    pub async fn product(&self, sku: &str, stock: i64) -> Product {
        let product = Product {
            id: new_id(),
            sku: sku.into(),
            title: "Kettle".into(),
            folded: fold(&format!("{sku} Kettle")),
            price_minor: 250_000,
            currency: "INR".into(),
            stock,
            version: 1,
        };
        let stored = product.clone();
        self.inner.db.write(move |conn| products::insert(conn, &stored)).await.unwrap();
        product
    }

    /// The order as it is now.
    pub async fn order_now(&self, name: &str) -> Order {
        let name = name.to_owned();
        self.inner
            .db
            .read(move |conn| orders::by_name(conn, &name, Lock::No))
            .await
            .unwrap()
            .unwrap()
    }

    /// The pieces in stock now.
    pub async fn stock_now(&self, sku: &str) -> i64 {
        let sku = sku.to_owned();
        self.inner
            .db
            .read(move |conn| products::by_sku(conn, &sku, Lock::No))
            .await
            .unwrap()
            .unwrap()
            .stock
    }
}

/// The same arguments under an idempotency key.
pub fn with_key(mut arguments: Value, key: impl Into<String>) -> Value {
    arguments["idempotency_key"] = key.into().into();
    arguments
}

/// The action's id in an answer.
pub fn id(answer: &Value) -> &str {
    answer["action_id"].as_str().unwrap_or_else(|| panic!("no action: {answer}"))
}
