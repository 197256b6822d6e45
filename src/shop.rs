//! The shop: orders and stock, the first thing the gate stands in front of.
//!
//! The gate knows none of this; the shop registers itself with [`register`].

pub mod check_stock;
pub mod get_order;
pub mod import;
pub mod list_products;
pub mod order_cancellation;
mod order_record;
mod page;
pub mod pages;
mod reference;
pub mod refund;
pub mod search_orders;
pub mod stock_adjustment;
pub mod tables;
#[cfg(test)]
mod testing;

use crate::{db::Clock, kinds::Registry};

/// The settings the shop's rules read.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The largest stock change one request may ask for, in pieces.
    pub max_stock_delta: i64,
}

/// Adds the shop's read tools and kinds, in the order agents see them.
pub fn register(registry: Registry, limits: Limits, clock: Clock) -> Registry {
    registry
        .read(get_order::GetOrder)
        .read(search_orders::SearchOrders)
        .read(list_products::ListProducts)
        .read(check_stock::CheckStock { clock })
        .kind(order_cancellation::OrderCancellation)
        .kind(refund::Refund)
        .kind(stock_adjustment::StockAdjustment {
            max_delta: limits.max_stock_delta,
        })
}
