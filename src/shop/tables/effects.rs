//! What executed actions did: one row per refund, cancellation and stock movement.

use diesel::prelude::*;

use super::{
    products::Product,
    schema::{order_cancellations, refunds, stock_movements},
};
use crate::{
    db::{Conn, Prepare, QueryResult, Timestamp},
    kinds::Effect,
};

/// Money that went back.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = refunds)]
pub struct RefundRow {
    /// The action's id, where there is one.
    pub id: String,
    pub order_id: String,
    /// None for a refund from before Countersign.
    pub action_id: Option<String>,
    pub amount_minor: i64,
    pub refunded_at: Timestamp,
}

/// A cancelled order.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = order_cancellations)]
pub struct CancellationRow {
    pub action_id: String,
    pub order_id: String,
    pub restocked: bool,
    pub cancelled_at: Timestamp,
}

/// Stock that moved.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = stock_movements)]
pub struct MovementRow {
    pub action_id: String,
    pub product_id: String,
    pub delta: i64,
    pub stock_after: i64,
    pub moved_at: Timestamp,
}

impl MovementRow {
    /// The movement that takes a locked product to `stock_after`.
    pub fn to(product: &Product, stock_after: i64, effect: &Effect<'_>) -> Self {
        Self {
            action_id: effect.action_id.to_owned(),
            product_id: product.id.clone(),
            delta: stock_after - product.stock,
            stock_after,
            moved_at: effect.at,
        }
    }
}

pub fn insert_refund(conn: &mut Conn, row: &RefundRow) -> QueryResult<()> {
    diesel::insert_into(refunds::table).values(row).prepared().execute(conn).map(|_| ())
}

/// An order's refunds, oldest first.
pub fn refunds_of(conn: &mut Conn, order_id: &str) -> QueryResult<Vec<RefundRow>> {
    refunds::table
        .filter(refunds::order_id.eq(order_id))
        .order((refunds::refunded_at.asc(), refunds::id.asc()))
        .select(RefundRow::as_select())
        .load(conn)
}

pub fn insert_cancellation(conn: &mut Conn, row: &CancellationRow) -> QueryResult<()> {
    diesel::insert_into(order_cancellations::table)
        .values(row)
        .prepared()
        .execute(conn)
        .map(|_| ())
}

pub fn insert_movement(conn: &mut Conn, row: &MovementRow) -> QueryResult<()> {
    diesel::insert_into(stock_movements::table)
        .values(row)
        .prepared()
        .execute(conn)
        .map(|_| ())
}

/// A product's movements, newest first.
pub fn movements_of(conn: &mut Conn, product_id: &str, limit: i64) -> QueryResult<Vec<MovementRow>> {
    stock_movements::table
        .filter(stock_movements::product_id.eq(product_id))
        .order((stock_movements::moved_at.desc(), stock_movements::action_id.desc()))
        .limit(limit)
        .select(MovementRow::as_select())
        .load(conn)
}
