//! `get_order`: one order with its lines and refunds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    reference,
    tables::{
        effects,
        orders::{self, Order},
    },
};
use crate::{
    db::{Conn, QueryResult},
    error::Denial,
    kinds::{About, Read},
    money,
    workflow::view::rfc3339,
};

/// The tool.
pub struct GetOrder;

#[derive(Deserialize, JsonSchema)]
pub struct Arguments {
    /// The order's name, such as #1044 or 1044.
    #[schemars(length(min = 1, max = 64))]
    order_id: String,
}

/// An order as agents see it in lists.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OrderView {
    pub order_id: String,
    pub email: String,
    pub financial_status: String,
    pub fulfillment_status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<String>,
    pub currency: String,
    pub total_minor: i64,
    pub total_text: String,
    pub refunded_minor: i64,
    pub refunded_text: String,
    pub created_at: String,
}

/// An order with its lines and refunds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FullOrderView {
    #[serde(flatten)]
    pub order: OrderView,
    pub lines: Vec<LineView>,
    pub refunds: Vec<RefundView>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct LineView {
    pub sku: String,
    pub name: String,
    pub quantity: i64,
    pub price_minor: i64,
    pub price_text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RefundView {
    /// Absent for a refund from before Countersign.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    pub amount_minor: i64,
    pub amount_text: String,
    pub refunded_at: String,
}

impl From<&Order> for OrderView {
    fn from(order: &Order) -> Self {
        Self {
            order_id: order.name.clone(),
            email: order.email.clone(),
            financial_status: order.financial_status.to_string(),
            fulfillment_status: order.fulfillment_status.to_string(),
            cancelled_at: order.cancelled_at.map(rfc3339),
            currency: order.currency.clone(),
            total_minor: order.total_minor,
            total_text: money::text(order.total_minor, &order.currency),
            refunded_minor: order.refunded_minor,
            refunded_text: money::text(order.refunded_minor, &order.currency),
            created_at: rfc3339(order.created_at),
        }
    }
}

impl Read for GetOrder {
    const NAME: &'static str = "get_order";
    const SCOPE: &'static str = "orders:read";
    const TITLE: &'static str = "Look at an order";
    const DESCRIPTION: &'static str =
        "One order: status, amounts, lines and refunds. Amounts are in minor units of its currency.";

    type Arguments = Arguments;
    type Answer = FullOrderView;

    fn read(
        &self,
        conn: &mut Conn,
        arguments: Arguments,
    ) -> QueryResult<Result<About<FullOrderView>, Denial>> {
        let order = match reference::order(conn, &arguments.order_id)? {
            Ok(order) => order,
            Err(denial) => return Ok(Err(denial)),
        };
        let price = |minor| money::text(minor, &order.currency);
        let lines = orders::lines(conn, &order.id)?.into_iter().map(|line| LineView {
            price_text: price(line.price_minor),
            sku: line.sku,
            name: line.name,
            quantity: line.quantity,
            price_minor: line.price_minor,
        });
        let refunds = effects::refunds_of(conn, &order.id)?.into_iter().map(|refund| RefundView {
            amount_text: price(refund.amount_minor),
            action_id: refund.action_id,
            amount_minor: refund.amount_minor,
            refunded_at: rfc3339(refund.refunded_at),
        });
        let view = FullOrderView {
            order: OrderView::from(&order),
            lines: lines.collect(),
            refunds: refunds.collect(),
        };
        Ok(Ok(About {
            answer: view,
            subject: Some(order.subject()),
        }))
    }
}
