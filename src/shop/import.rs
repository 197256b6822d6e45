//! The demo shop: Shopify's CSV exports in `seed/`, read and stored in one transaction.
//!
//! Everything is read before anything is written; a mistake is named by file, line and column.

mod orders;
mod products;
mod sheet;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use orders::{ImportedOrder, read as read_orders};
pub use products::read as read_products;

use super::tables::{effects, orders as order_rows, products as product_rows};
use crate::{db::Db, error::Result};

/// Part of the binary, so that it works wherever it runs.
const PRODUCTS: (&str, &str) = ("seed/products.csv", include_str!("../../seed/products.csv"));
const ORDERS: (&str, &str) = ("seed/orders.csv", include_str!("../../seed/orders.csv"));

/// What seeding did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seeded {
    Loaded {
        products: usize,
        orders: usize,
    },
    /// The shop has something in it already; nothing was changed.
    NotEmpty,
}

/// Loads the demo shop into an empty one.
pub async fn seed(db: &Db) -> Result<Seeded> {
    let products = Arc::new(read_products(PRODUCTS.0, PRODUCTS.1)?);
    let orders = Arc::new(read_orders(ORDERS.0, ORDERS.1)?);
    let loaded = Seeded::Loaded {
        products: products.len(),
        orders: orders.len(),
    };
    let stored = db.write(move |conn| {
        if product_rows::any(conn)? || order_rows::any(conn)? {
            return Ok(Seeded::NotEmpty);
        }
        for product in products.iter() {
            product_rows::insert(conn, product)?;
        }
        for imported in orders.iter() {
            order_rows::insert(conn, &imported.order)?;
            for line in &imported.lines {
                order_rows::insert_line(conn, line)?;
            }
            if let Some(refund) = &imported.refund {
                effects::insert_refund(conn, refund)?;
            }
        }
        Ok(loaded)
    });
    stored.await
}
