//! The shop: orders and stock, the first thing the gate stands in front of.
//!
//! The gate knows none of this; the shop registers itself with [`register`].

pub mod get_order;
pub mod money;
mod reference;
pub mod refund;
pub mod tables;

use crate::kinds::Registry;

/// The settings the shop's rules read.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The largest stock change one request may ask for, in pieces.
    pub max_stock_delta: i64,
}

/// Adds the shop's read tools and kinds, in the order agents see them.
pub fn register(registry: Registry, _limits: Limits) -> Registry {
    registry.read(get_order::GetOrder).kind(refund::Refund)
}
