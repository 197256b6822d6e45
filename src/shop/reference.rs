//! Finding the record that an agent means. A look-alike of a public id is simply not found.

use super::tables::{
    orders::{self, Order},
    products::{self, Product},
};
use crate::{
    db::{Conn, QueryResult},
    error::{Code, Denial},
    kinds::Lock,
};

/// The order that `1044` or `#1044` names.
pub(super) fn order(conn: &mut Conn, typed: &str) -> QueryResult<Result<Order, Denial>> {
    let typed = typed.trim();
    let name = format!("#{}", typed.strip_prefix('#').unwrap_or(typed));
    let found = orders::by_name(conn, &name, Lock::No)?;
    Ok(found.ok_or_else(|| Denial {
        field: Some("order_id".to_owned()),
        ..Denial::new(
            Code::NotFound,
            "There is no such order. search_orders finds orders by e-mail address or number.",
        )
    }))
}

/// The product of that SKU, written as it is stored.
pub(super) fn product(conn: &mut Conn, typed: &str) -> QueryResult<Result<Product, Denial>> {
    let found = products::by_sku(conn, typed.trim(), Lock::No)?;
    Ok(found.ok_or_else(|| Denial {
        field: Some("sku".to_owned()),
        ..Denial::new(
            Code::NotFound,
            "There is no product of that SKU. list_products finds products by SKU or title.",
        )
    }))
}
