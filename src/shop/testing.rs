//! Records for the kinds' own tests.

use super::{
    order_record::OrderRecord,
    tables::{
        orders::{FinancialStatus, FulfillmentStatus, Line, Order},
        products::Product,
    },
};
use crate::db::Timestamp;

/// A day in December.
pub(super) fn day() -> Timestamp {
    "2025-12-06T15:36:16".parse().unwrap()
}

/// Order #1044: INR 100.00, paid, nothing sent or refunded, one line of headphones.
pub(super) fn order() -> OrderRecord {
    let order = Order {
        id: "o".to_owned(),
        name: "#1044".to_owned(),
        email: "customer@example.com".to_owned(),
        folded: String::new(),
        financial_status: FinancialStatus::Paid,
        fulfillment_status: FulfillmentStatus::Unfulfilled,
        cancelled_at: None,
        currency: "INR".to_owned(),
        total_minor: 10_000,
        refunded_minor: 0,
        created_at: day(),
        version: 3,
    };
    OrderRecord {
        order,
        lines: vec![line("WH-BT-001", 1)],
        refunds: Vec::new(),
        customer_orders: 2,
    }
}

/// A line of some pieces.
pub(super) fn line(sku: &str, quantity: i64) -> Line {
    Line {
        order_id: "o".to_owned(),
        position: 1,
        sku: sku.to_owned(),
        name: format!("Goods {sku}"),
        quantity,
        price_minor: 100,
    }
}

/// A product with some stock.
pub(super) fn product(sku: &str, stock: i64) -> Product {
    Product {
        id: sku.to_lowercase(),
        sku: sku.to_owned(),
        title: format!("Goods {sku}"),
        folded: String::new(),
        price_minor: 100,
        currency: "INR".to_owned(),
        stock,
        version: 7,
    }
}
