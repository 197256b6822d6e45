//! An order with what an approver wants to know of it; the kinds that concern an order share it.

use super::tables::{
    effects::{self, RefundRow},
    orders::{self, FinancialStatus, Line, MANY, Order},
};
use crate::{
    db::{Conn, QueryResult},
    kinds::Lock,
    money,
    text::counted,
    web::link,
};

/// The rows.
pub struct OrderRecord {
    pub order: Order,
    pub lines: Vec<Line>,
    pub refunds: Vec<RefundRow>,
    /// How many orders the customer has, as far as they are counted.
    pub customer_orders: i64,
}

/// The rows in words, for `templates/kinds/parts/order.html`.
pub struct OrderFacts<'a> {
    pub order: &'a Order,
    pub href: String,
    pub lines: &'a [Line],
    pub placed: String,
    pub total: String,
    pub refunds: Vec<String>,
    pub customer_orders: String,
}

impl OrderRecord {
    /// Reads the order of that public id; locks it if asked.
    pub fn load(conn: &mut Conn, name: &str, lock: Lock) -> QueryResult<Option<Self>> {
        let Some(order) = orders::by_name(conn, name, lock)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            lines: orders::lines(conn, &order.id)?,
            refunds: effects::refunds_of(conn, &order.id)?,
            customer_orders: orders::count_of(conn, &order.email)?,
            order,
        }))
    }

    /// An amount in the order's currency.
    pub fn price(&self, minor: i64) -> String {
        money::text(minor, &self.order.currency)
    }

    /// What the customer paid and did not get back.
    pub fn held_minor(&self) -> i64 {
        match self.order.financial_status {
            FinancialStatus::Paid | FinancialStatus::PartiallyRefunded => self.order.refundable_minor(),
            FinancialStatus::Pending | FinancialStatus::Refunded | FinancialStatus::Voided => 0,
        }
    }

    /// The rows in words.
    pub fn facts(&self) -> OrderFacts<'_> {
        let refund = |refund: &RefundRow| {
            format!("{} on {}", self.price(refund.amount_minor), refund.refunded_at.format("%-d %b %Y"))
        };
        OrderFacts {
            order: &self.order,
            href: link::order(&self.order.name),
            lines: &self.lines,
            placed: self.order.created_at.format("%-d %b %Y, %H:%M UTC").to_string(),
            total: self.price(self.order.total_minor),
            refunds: self.refunds.iter().map(refund).collect(),
            customer_orders: orders_in_words(self.customer_orders),
        }
    }
}

/// How many orders a customer has, in words.
pub fn orders_in_words(count: i64) -> String {
    counted(count, MANY, "order")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_orders_are_not_counted() {
        let said = [0, 1, 2, MANY - 1, MANY].map(orders_in_words);
        assert_eq!(said, ["0 orders", "1 order", "2 orders", "99 orders", "100 orders or more"]);
    }
}
