//! `order_cancellation`: an order is called off before anything of it was sent. Refunds nothing.

mod restocking;

use std::time::Duration;

use askama::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::restocking::Restocking;
use super::{
    order_record::{OrderFacts, OrderRecord},
    reference,
    tables::{
        effects::{self, CancellationRow},
        orders::{self, FulfillmentStatus, Line},
    },
};
use crate::{
    db::{Conn, QueryResult, must_be_one},
    error::Denial,
    kinds::{ActionKind, Amount, Change, Effect, Lock, Measure, Preview, Refusal, Wording},
    store::subjects::Versions,
    text::filters,
    workflow::view::rfc3339,
};

/// The kind.
#[derive(Clone)]
pub struct OrderCancellation;

#[derive(Deserialize, JsonSchema)]
pub struct Arguments {
    /// The order's name, such as #1044 or 1044.
    #[schemars(length(min = 1, max = 64))]
    order_id: String,
    /// Whether its lines go back into stock; default true.
    restock: Option<bool>,
}

#[derive(Serialize, Deserialize)]
pub struct Params {
    order_id: String,
    /// Only ever `false`: the default is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    restock: Option<bool>,
}

impl Params {
    fn restocks(&self) -> bool {
        self.restock.unwrap_or(true)
    }
}

/// The order, and where its lines go.
pub struct Record {
    of: OrderRecord,
    restocking: Restocking,
}

#[derive(Template)]
#[template(path = "kinds/order_cancellation.html")]
struct Shown<'a> {
    facts: OrderFacts<'a>,
    owed: Option<String>,
    restock: bool,
    missing: &'a [Line],
}

impl ActionKind for OrderCancellation {
    const NAME: &'static str = "order_cancellation";
    const VERSION: i32 = 1;
    const SCOPE: &'static str = "orders:write";
    const TITLE: &'static str = "Cancellation";
    const DESCRIPTION: &'static str = "Asks to cancel an order of which nothing was sent. Refunds nothing: ask for a refund as well if one is \
         due. It only queues a request: nothing has happened until a person approves. Then ask a person to open review_url, or call \
         get_action_status. To retry, send the same call again.";
    const RETRY_WINDOW: Duration = Duration::from_secs(24 * 60 * 60);
    const DESTRUCTIVE: bool = true;
    const MEASURE: Measure = Measure::Money;

    type Arguments = Arguments;
    type Params = Params;
    type Record = Record;

    fn resolve(&self, conn: &mut Conn, arguments: Arguments) -> QueryResult<Result<Params, Denial>> {
        let order = reference::order(conn, &arguments.order_id)?;
        Ok(order.map(|order| Params {
            order_id: order.name,
            restock: arguments.restock.filter(|restock| !restock),
        }))
    }

    fn load(&self, conn: &mut Conn, params: &Params, lock: Lock) -> QueryResult<Option<Record>> {
        let Some(of) = OrderRecord::load(conn, &params.order_id, lock)? else {
            return Ok(None);
        };
        let restocking = if params.restocks() {
            Restocking::load(conn, &of.lines, lock)?
        } else {
            Restocking::default()
        };
        Ok(Some(Record { of, restocking }))
    }

    fn versions(&self, record: &Record) -> Versions {
        let order = &record.of.order;
        let products = record
            .restocking
            .returns
            .iter()
            .map(|back| (back.product.subject(), back.product.version));
        products.chain([(order.subject(), order.version)]).collect()
    }

    fn check(&self, _: &Params, record: &Record) -> Result<(), Refusal> {
        let order = &record.of.order;
        if order.cancelled_at.is_some() {
            let message = format!("Order {} is already cancelled.", order.name);
            return Err(Refusal::new("already_cancelled", message));
        }
        if order.fulfillment_status != FulfillmentStatus::Unfulfilled {
            let message = format!(
                "Something of order {} was already sent (it is {}), so it can't be cancelled.",
                order.name, order.fulfillment_status
            );
            return Err(Refusal::new("already_fulfilled", message));
        }
        if let Some(full) = record.restocking.overflow() {
            let message = format!("The stock of {} can't hold that many pieces.", full.sku);
            return Err(Refusal::new("stock_overflow", message));
        }
        Ok(())
    }

    fn wording(&self, params: &Params, record: &Record) -> Wording {
        let headline = format!("Cancel order {}", params.order_id);
        Wording {
            summary: if params.restocks() {
                headline.clone()
            } else {
                format!("{headline} without restocking")
            },
            headline,
            figure: record.of.price(record.of.order.total_minor),
            amount: Some(Amount::money(record.of.order.total_minor, &record.of.order.currency)),
        }
    }

    fn preview(&self, params: &Params, record: &Record) -> Preview {
        let cancelled = if record.of.order.cancelled_at.is_some() { "yes" } else { "no" };
        let owed = record.of.price(record.of.held_minor());
        let mut changes = vec![
            Change::new("Cancelled", cancelled, "yes"),
            Change::same("Financial status", record.of.order.financial_status.as_str()),
            Change::same("Still owed to the customer", owed.as_str()),
        ];
        changes.extend(record.restocking.changes());
        let shown = Shown {
            facts: record.of.facts(),
            owed: (record.of.held_minor() > 0).then_some(owed),
            restock: params.restocks(),
            missing: &record.restocking.missing,
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
        record: &Record,
    ) -> QueryResult<Value> {
        let order = &record.of.order;
        let row = CancellationRow {
            action_id: effect.action_id.to_owned(),
            order_id: order.id.clone(),
            restocked: params.restocks(),
            cancelled_at: effect.at,
        };
        effects::insert_cancellation(conn, &row)?;
        orders::cancel(conn, &order.id, effect.at).and_then(must_be_one)?;
        let restocked = record.restocking.apply(conn, effect)?;
        let mut result = json!({
            "cancelled_at": rfc3339(effect.at),
            "restocked": restocked,
            "owed_minor": record.of.held_minor(),
            "owed_text": record.of.price(record.of.held_minor()),
            "currency": order.currency,
        });
        if !record.restocking.missing.is_empty() {
            result["not_restocked"] =
                record.restocking.missing.iter().map(|line| line.sku.as_str()).collect();
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::canonical::canonical,
        shop::{
            tables::orders::FinancialStatus,
            testing::{day, line, order, product},
        },
    };

    fn params(restock: bool) -> Params {
        Params {
            order_id: "#1044".to_owned(),
            restock: (!restock).then_some(false),
        }
    }

    /// The order with these lines, and these products in the shop.
    fn record(lines: Vec<Line>, products: &[(&str, i64)]) -> Record {
        let of = OrderRecord { lines, ..order() };
        let known = |sku: &str| products.iter().find(|(known, _)| *known == sku);
        let restocking =
            Restocking::of(&of.lines, |sku| Ok(known(sku).map(|(sku, stock)| product(sku, *stock))));
        Record {
            restocking: restocking.unwrap(),
            of,
        }
    }

    fn rule(record: &Record) -> Option<&'static str> {
        OrderCancellation.check(&params(true), record).err().map(|refusal| refusal.rule)
    }

    #[test]
    fn an_order_is_cancelled_once_and_before_anything_is_sent() {
        let mut record = record(vec![line("A", 1)], &[("A", 1)]);
        assert_eq!(rule(&record), None);
        for sent in [FulfillmentStatus::Partial, FulfillmentStatus::Fulfilled] {
            record.of.order.fulfillment_status = sent;
            assert_eq!(rule(&record), Some("already_fulfilled"), "{sent}");
        }
        record.of.order.cancelled_at = Some(day());
        assert_eq!(rule(&record), Some("already_cancelled"));
    }

    #[test]
    fn lines_of_one_sku_are_summed_and_a_missing_product_is_named() {
        let lines = vec![line("B", 2), line("GONE", 1), line("A", 1), line("B", 3)];
        let preview = OrderCancellation.preview(&params(true), &record(lines, &[("A", 0), ("B", 10)]));
        let changes: Vec<_> = preview
            .changes
            .iter()
            .map(|change| format!("{}: {} > {}", change.what, change.now, change.after))
            .collect();
        insta::assert_snapshot!(changes.join("\n"), @r"
        Cancelled: no > yes
        Financial status: paid > 
        Still owed to the customer: INR 100.00 > 
        Stock of A: 0 > 1
        Stock of B: 10 > 15
        Stock of GONE: no longer a product, not restocked > 
        ");
        for fact in ["GONE</bdi> is no longer a product", "INR 100.00 is still owed"] {
            assert!(preview.facts.contains(fact), "{}", preview.facts);
        }
    }

    #[test]
    fn what_was_not_paid_is_not_owed() {
        let mut record = record(vec![line("A", 1)], &[("A", 1)]);
        record.of.order.financial_status = FinancialStatus::Pending;
        let preview = OrderCancellation.preview(&params(false), &record);
        assert_eq!(preview.changes[2], Change::same("Still owed to the customer", "INR 0.00"));
        assert!(!preview.facts.contains("owed"));
    }

    #[test]
    fn stock_that_can_not_be_counted_is_refused() {
        let lines = || vec![line("A", i64::MAX), line("A", i64::MAX)];
        assert_eq!(rule(&record(lines(), &[("A", 0)])), Some("stock_overflow"));
        assert_eq!(rule(&record(lines(), &[])), None);
    }

    #[test]
    fn restocking_is_the_default_and_left_out() {
        assert_eq!(canonical(&params(true)), r##"{"order_id":"#1044"}"##);
        assert_eq!(canonical(&params(false)), r##"{"order_id":"#1044","restock":false}"##);
        assert!(serde_json::from_str::<Params>(r##"{"order_id":"#1044"}"##).unwrap().restocks());
    }
}
