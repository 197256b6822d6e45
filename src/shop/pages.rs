//! The shop's pages in the dashboard: what agents read, for people.

pub mod order;
pub mod orders;
pub mod products;

use super::tables::orders::{FulfillmentStatus, Order};

/// How many rows a page of a list has.
const ROWS: i64 = 50;

/// Shopify's word as a reader would say it.
fn said(word: &str) -> String {
    let mut said = word.replace('_', " ");
    if let Some(first) = said.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    said
}

/// How much of an order was sent; nothing of a cancelled one will be.
fn delivery(order: &Order) -> String {
    match (order.cancelled_at, order.fulfillment_status) {
        (Some(_), FulfillmentStatus::Unfulfilled) => "Cancelled".to_owned(),
        (Some(_), status) => format!("{}, cancelled", said(status.as_str())),
        (None, status) => said(status.as_str()),
    }
}
