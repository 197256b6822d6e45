//! Orders and their lines.

use diesel::{dsl::exists, prelude::*, sql_query, sql_types::Text};

use super::{
    ESCAPE, containing,
    schema::{order_lines, orders},
};
use crate::{
    db::{Conn, Prepare, QueryResult, Timestamp, columns, text_enum},
    kinds::Lock,
};

/// So many orders of a customer are counted.
pub const MANY: i64 = 100;

text_enum! {
    /// Shopify's word for what was paid.
    pub enum FinancialStatus {
        Pending = "pending",
        Paid = "paid",
        PartiallyRefunded = "partially_refunded",
        Refunded = "refunded",
        Voided = "voided",
    }
}

text_enum! {
    /// Shopify's word for what was sent.
    pub enum FulfillmentStatus {
        Unfulfilled = "unfulfilled",
        Partial = "partial",
        Fulfilled = "fulfilled",
    }
}

/// An order. Amounts are in minor units of its currency.
#[derive(Debug, Clone, Queryable, Selectable, Insertable, QueryableByName)]
#[diesel(table_name = orders)]
pub struct Order {
    pub id: String,
    /// Its public id, "#1044".
    pub name: String,
    pub email: String,
    /// Name and e-mail address, folded for searches.
    pub folded: String,
    pub financial_status: FinancialStatus,
    pub fulfillment_status: FulfillmentStatus,
    pub cancelled_at: Option<Timestamp>,
    pub currency: String,
    pub total_minor: i64,
    pub refunded_minor: i64,
    pub created_at: Timestamp,
    /// One more with every write.
    pub version: i64,
}

impl Order {
    /// What can still be refunded.
    pub fn refundable_minor(&self) -> i64 {
        self.total_minor - self.refunded_minor
    }

    /// As actions and events name it.
    pub fn subject(&self) -> String {
        subject(&self.name)
    }
}

/// As actions and events name an order of that public id.
pub fn subject(name: &str) -> String {
    format!("order:{name}")
}

/// One line of an order.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = order_lines)]
pub struct Line {
    pub order_id: String,
    pub position: i32,
    pub sku: String,
    pub name: String,
    pub quantity: i64,
    pub price_minor: i64,
}

/// Which orders a list shows.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Part of the public id or the e-mail address, folded.
    pub text: Option<String>,
    pub email: Option<String>,
    pub financial_status: Option<FinancialStatus>,
    pub fulfillment_status: Option<FulfillmentStatus>,
    pub created_after: Option<Timestamp>,
    pub created_before: Option<Timestamp>,
    /// Only orders older than this one, by time and id.
    pub older_than: Option<(Timestamp, String)>,
    pub limit: i64,
}

pub fn insert(conn: &mut Conn, order: &Order) -> QueryResult<()> {
    diesel::insert_into(orders::table).values(order).execute(conn).map(|_| ())
}

pub fn insert_line(conn: &mut Conn, line: &Line) -> QueryResult<()> {
    diesel::insert_into(order_lines::table).values(line).execute(conn).map(|_| ())
}

/// Whether there is any order.
pub fn any(conn: &mut Conn) -> QueryResult<bool> {
    diesel::select(exists(orders::table.select(orders::id))).get_result(conn)
}

/// The order of that public id; locked until the transaction ends, if asked.
pub fn by_name(conn: &mut Conn, name: &str, lock: Lock) -> QueryResult<Option<Order>> {
    if lock == Lock::Yes {
        return sql_query(format!(
            "UPDATE orders SET version = version WHERE name = $1 RETURNING {}",
            columns::<Order>()
        ))
        .bind::<Text, _>(name)
        .prepared()
        .get_result(conn)
        .optional();
    }
    orders::table
        .filter(orders::name.eq(name))
        .select(Order::as_select())
        .first(conn)
        .optional()
}

pub fn lines(conn: &mut Conn, order_id: &str) -> QueryResult<Vec<Line>> {
    order_lines::table
        .filter(order_lines::order_id.eq(order_id))
        .order(order_lines::position.asc())
        .select(Line::as_select())
        .load(conn)
}

/// How many orders a customer has; of very many no more than [`MANY`] are counted.
pub fn count_of(conn: &mut Conn, email: &str) -> QueryResult<i64> {
    let found = orders::table.filter(orders::email.eq(email)).select(orders::id).limit(MANY);
    Ok(found.load::<String>(conn)?.len().try_into().unwrap_or(MANY))
}

/// A page of orders, newest first.
pub fn list(conn: &mut Conn, filter: &Filter) -> QueryResult<Vec<Order>> {
    let mut query = orders::table
        .select(Order::as_select())
        .order((orders::created_at.desc(), orders::id.desc()))
        .into_boxed();
    if let Some(text) = &filter.text {
        query = query.filter(orders::folded.like(containing(text)).escape(ESCAPE));
    }
    if let Some(email) = &filter.email {
        query = query.filter(orders::email.eq(email.clone()));
    }
    if let Some(status) = filter.financial_status {
        query = query.filter(orders::financial_status.eq(status));
    }
    if let Some(status) = filter.fulfillment_status {
        query = query.filter(orders::fulfillment_status.eq(status));
    }
    if let Some(after) = filter.created_after {
        query = query.filter(orders::created_at.gt(after));
    }
    if let Some(before) = filter.created_before {
        query = query.filter(orders::created_at.lt(before));
    }
    if let Some((at, id)) = &filter.older_than {
        let older = orders::created_at.lt(*at).or(orders::created_at.eq(*at).and(orders::id.lt(id.clone())));
        query = query.filter(older);
    }
    query.limit(filter.limit).load(conn)
}

/// Adds to what was refunded. The order must be locked.
pub fn add_refund(
    conn: &mut Conn,
    id: &str,
    amount_minor: i64,
    status: FinancialStatus,
) -> QueryResult<usize> {
    diesel::update(orders::table.find(id))
        .set((
            orders::refunded_minor.eq(orders::refunded_minor + amount_minor),
            orders::financial_status.eq(status),
            orders::version.eq(orders::version + 1),
        ))
        .prepared()
        .execute(conn)
}

/// Cancels an order that is not cancelled; 0 when it is. The order must be locked.
pub fn cancel(conn: &mut Conn, id: &str, at: Timestamp) -> QueryResult<usize> {
    diesel::update(orders::table.filter(orders::id.eq(id)).filter(orders::cancelled_at.is_null()))
        .set((orders::cancelled_at.eq(at), orders::version.eq(orders::version + 1)))
        .prepared()
        .execute(conn)
}
