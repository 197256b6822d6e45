//! `refund`: money goes back to the customer of an order.

use std::time::Duration;

use askama::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    money, reference,
    tables::{
        effects::{self, RefundRow},
        orders::{self, FinancialStatus, Line, Order},
    },
};
use crate::{
    db::{Conn, QueryResult},
    error::Denial,
    kinds::{ActionKind, Change, Effect, Lock, Preview, Refusal, Wording},
    store::subjects::Versions,
    text::filters,
};

/// The kind.
#[derive(Clone)]
pub struct Refund;

#[derive(Deserialize, JsonSchema)]
pub struct Arguments {
    /// The order's name, such as #1044 or 1044.
    #[schemars(length(min = 1, max = 64))]
    order_id: String,
    /// Minor units: 899900 is INR 8,999.00.
    #[schemars(range(min = 1, max = 9_007_199_254_740_991_i64))]
    amount_minor: i64,
    /// ISO 4217; the order's own currency.
    #[schemars(length(equal = 3))]
    currency: String,
}

#[derive(Serialize, Deserialize)]
pub struct Params {
    order_id: String,
    amount_minor: i64,
    currency: String,
}

/// The order with what an approver wants to know of it.
pub struct Record {
    order: Order,
    lines: Vec<Line>,
    refunds: Vec<RefundRow>,
    customer_orders: i64,
}

#[derive(Template)]
#[template(path = "kinds/refund.html")]
struct Facts<'a> {
    order: &'a Order,
    number: &'a str,
    lines: &'a [Line],
    placed: String,
    total: String,
    refunds: Vec<String>,
    customer_orders: i64,
}

impl ActionKind for Refund {
    const NAME: &'static str = "refund";
    const VERSION: i32 = 1;
    const SCOPE: &'static str = "orders:write";
    const TITLE: &'static str = "Refund";
    const DESCRIPTION: &'static str = "Asks for a refund on an order. It queues a request; nothing has happened until a person \
         approves. Afterwards ask a person to open review_url, or call get_action_status. To retry, send the same call again.";
    const RETRY_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);
    const DESTRUCTIVE: bool = true;

    type Arguments = Arguments;
    type Params = Params;
    type Record = Record;

    fn resolve(&self, conn: &mut Conn, arguments: Arguments) -> QueryResult<Result<Params, Denial>> {
        if money::exponent(&arguments.currency).is_none() {
            return Ok(Err(Denial::invalid("currency", "currency must be an ISO 4217 code such as INR.")));
        }
        let order = reference::order(conn, &arguments.order_id)?;
        Ok(order.map(|order| Params {
            order_id: order.name,
            amount_minor: arguments.amount_minor,
            currency: arguments.currency,
        }))
    }

    fn load(&self, conn: &mut Conn, params: &Params, lock: Lock) -> QueryResult<Option<Record>> {
        let Some(order) = orders::by_name(conn, &params.order_id, lock)? else {
            return Ok(None);
        };
        Ok(Some(Record {
            lines: orders::lines(conn, &order.id)?,
            refunds: effects::refunds_of(conn, &order.id)?,
            customer_orders: orders::count_of(conn, &order.email)?,
            order,
        }))
    }

    fn versions(&self, record: &Record) -> Versions {
        Versions::from([(record.order.subject(), record.order.version)])
    }

    fn check(&self, params: &Params, record: &Record) -> Result<(), Refusal> {
        let order = &record.order;
        if !matches!(order.financial_status, FinancialStatus::Paid | FinancialStatus::PartiallyRefunded) {
            let message = format!(
                "Order {} is {}; only a paid order can be refunded.",
                order.name, order.financial_status
            );
            return Err(Refusal::new("not_refundable", message));
        }
        if params.currency != order.currency {
            let message =
                format!("Order {} is in {}; name the amount in that currency.", order.name, order.currency);
            return Err(Refusal::new("currency_mismatch", message));
        }
        if params.amount_minor <= 0 {
            return Err(Refusal::new("amount_not_positive", "The amount must be more than 0."));
        }
        if params.amount_minor > order.refundable_minor() {
            let left = money::text(order.refundable_minor(), &order.currency);
            let message = format!("Only {left} of order {} can still be refunded.", order.name);
            return Err(Refusal::new("exceeds_refundable", message));
        }
        Ok(())
    }

    fn wording(&self, params: &Params, _: &Record) -> Wording {
        let figure = money::text(params.amount_minor, &params.currency);
        Wording {
            summary: format!("Refund {figure} on order {}", params.order_id),
            headline: format!("Refund order {}", params.order_id),
            figure,
        }
    }

    fn preview(&self, params: &Params, record: &Record) -> Preview {
        let order = &record.order;
        let price = |minor| money::text(minor, &order.currency);
        // Saturating, for a preview of what the rules refuse anyway.
        let refunded = order.refunded_minor.saturating_add(params.amount_minor);
        let left = order.total_minor.saturating_sub(refunded);
        let changes = vec![
            Change::new("Refunded", price(order.refunded_minor), price(refunded)),
            Change::new("Left to refund", price(order.refundable_minor()), price(left)),
            Change::new(
                "Financial status",
                order.financial_status.as_str(),
                status_after(order, params).as_str(),
            ),
            Change::same("Stock", "unchanged"),
        ];
        let facts = Facts {
            order,
            number: order.name.trim_start_matches('#'),
            lines: &record.lines,
            placed: order.created_at.format("%-d %b %Y, %H:%M UTC").to_string(),
            total: price(order.total_minor),
            refunds: record
                .refunds
                .iter()
                .map(|refund| {
                    format!("{} on {}", price(refund.amount_minor), refund.refunded_at.format("%-d %b %Y"))
                })
                .collect(),
            customer_orders: record.customer_orders,
        };
        Preview {
            changes,
            facts: facts.render().expect("the template renders"),
        }
    }

    fn apply(
        &self,
        conn: &mut Conn,
        effect: &Effect<'_>,
        params: &Params,
        record: &Record,
    ) -> QueryResult<Value> {
        let (order, status) = (&record.order, status_after(&record.order, params));
        let row = RefundRow {
            id: effect.action_id.to_owned(),
            order_id: order.id.clone(),
            action_id: Some(effect.action_id.to_owned()),
            amount_minor: params.amount_minor,
            refunded_at: effect.at,
        };
        effects::insert_refund(conn, &row)?;
        orders::add_refund(conn, &order.id, params.amount_minor, status)?;
        Ok(json!({
            "refunded_minor": params.amount_minor,
            "refunded_text": money::text(params.amount_minor, &order.currency),
            "currency": order.currency,
            "financial_status": status.as_str(),
        }))
    }
}

fn status_after(order: &Order, params: &Params) -> FinancialStatus {
    if params.amount_minor >= order.refundable_minor() {
        FinancialStatus::Refunded
    } else {
        FinancialStatus::PartiallyRefunded
    }
}
