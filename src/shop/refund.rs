//! `refund`: money goes back to the customer of an order.

use std::time::Duration;

use askama::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    order_record::{OrderFacts, OrderRecord},
    reference,
    tables::{
        effects::{self, RefundRow},
        orders::{self, FinancialStatus, Order},
    },
};
use crate::{
    db::{Conn, QueryResult, must_be_one},
    error::Denial,
    kinds::{ActionKind, Amount, Change, Effect, Lock, Measure, Preview, Refusal, Wording},
    money,
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

#[derive(Template)]
#[template(path = "kinds/refund.html")]
struct Shown<'a> {
    facts: OrderFacts<'a>,
}

impl ActionKind for Refund {
    const NAME: &'static str = "refund";
    const VERSION: i32 = 1;
    const SCOPE: &'static str = "orders:write";
    const TITLE: &'static str = "Refund";
    const DESCRIPTION: &'static str = "Asks for a refund on an order. It only queues a request: nothing has happened until a person approves. Then \
         ask a person to open review_url, or call get_action_status. To retry, send the same call again.";
    const RETRY_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);
    const DESTRUCTIVE: bool = true;
    const MEASURE: Measure = Measure::Money;

    type Arguments = Arguments;
    type Params = Params;
    type Record = OrderRecord;

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

    fn load(&self, conn: &mut Conn, params: &Params, lock: Lock) -> QueryResult<Option<OrderRecord>> {
        OrderRecord::load(conn, &params.order_id, lock)
    }

    fn versions(&self, record: &OrderRecord) -> Versions {
        Versions::from([(record.order.subject(), record.order.version)])
    }

    fn check(&self, params: &Params, record: &OrderRecord) -> Result<(), Refusal> {
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

    fn wording(&self, params: &Params, _: &OrderRecord) -> Wording {
        let figure = money::text(params.amount_minor, &params.currency);
        Wording {
            summary: format!("Refund {figure} on order {}", params.order_id),
            headline: format!("Refund order {}", params.order_id),
            figure,
            amount: Some(Amount::money(params.amount_minor, &params.currency)),
        }
    }

    fn preview(&self, params: &Params, record: &OrderRecord) -> Preview {
        let order = &record.order;
        let price = |minor| record.price(minor);
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
        let shown = Shown {
            facts: record.facts(),
        };
        Preview {
            changes,
            facts: shown.render().expect("the template renders"),
        }
    }

    fn apply(
        &self,
        conn: &mut Conn,
        effect: &Effect<'_>,
        params: &Params,
        record: &OrderRecord,
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
        orders::add_refund(conn, &order.id, params.amount_minor, status).and_then(must_be_one)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shop::testing::order;

    fn params(amount_minor: i64) -> Params {
        Params {
            order_id: "#1044".to_owned(),
            amount_minor,
            currency: "INR".to_owned(),
        }
    }

    fn rule(params: &Params, record: &OrderRecord) -> Option<&'static str> {
        Refund.check(params, record).err().map(|refusal| refusal.rule)
    }

    #[test]
    fn only_what_was_paid_and_not_returned_goes_back() {
        let mut record = order();
        assert_eq!(rule(&params(10_000), &record), None);
        assert_eq!(rule(&params(10_001), &record), Some("exceeds_refundable"));
        assert_eq!(rule(&params(i64::MAX), &record), Some("exceeds_refundable"));
        assert_eq!(rule(&params(0), &record), Some("amount_not_positive"));
        assert_eq!(rule(&params(-1), &record), Some("amount_not_positive"));
        record.order.refunded_minor = 9_999;
        assert_eq!(rule(&params(1), &record), None);
        assert_eq!(rule(&params(2), &record), Some("exceeds_refundable"));
    }

    #[test]
    fn the_order_must_be_paid_and_in_that_currency() {
        let mut record = order();
        let euros = Params {
            currency: "EUR".to_owned(),
            ..params(1)
        };
        assert_eq!(rule(&euros, &record), Some("currency_mismatch"));
        for status in [FinancialStatus::Pending, FinancialStatus::Refunded, FinancialStatus::Voided] {
            record.order.financial_status = status;
            assert_eq!(rule(&params(1), &record), Some("not_refundable"), "{status}");
        }
    }

    #[test]
    fn the_last_of_it_makes_the_order_refunded() {
        let record = order();
        let after = |amount| Refund.preview(&params(amount), &record).changes[2].after.clone();
        assert_eq!((after(9_999), after(10_000)), ("partially_refunded".to_owned(), "refunded".to_owned()));
    }
}
