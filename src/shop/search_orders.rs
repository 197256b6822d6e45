//! `search_orders`: orders by text, customer, status and time, newest first.

use chrono::DateTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    get_order::OrderView,
    page,
    tables::{
        fold,
        orders::{self, Filter, FinancialStatus, FulfillmentStatus},
    },
};
use crate::{
    db::{Conn, QueryResult, Timestamp, comparable},
    error::Denial,
    kinds::{Lock, Read, typed::About},
};

/// The tool.
pub struct SearchOrders;

#[derive(Deserialize, JsonSchema)]
pub struct Arguments {
    /// Part of the order's name or of the e-mail address.
    #[schemars(length(max = 200))]
    query: Option<String>,
    /// The customer's whole address.
    #[schemars(length(max = 254))]
    email: Option<String>,
    financial_status: Option<FinancialStatus>,
    fulfillment_status: Option<FulfillmentStatus>,
    /// RFC 3339.
    #[schemars(length(max = 40))]
    created_after: Option<String>,
    /// RFC 3339.
    #[schemars(length(max = 40))]
    created_before: Option<String>,
    #[schemars(range(min = 1, max = page::MAX_LIMIT))]
    limit: Option<i64>,
    /// next_cursor of the page before.
    #[schemars(length(max = 200))]
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct OrdersView {
    orders: Vec<OrderView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Read for SearchOrders {
    const NAME: &'static str = "search_orders";
    const SCOPE: &'static str = "orders:read";
    const TITLE: &'static str = "Search orders";
    const DESCRIPTION: &'static str = "Orders, newest first, by part of the name or address, customer, status and time. \
         get_order has the lines and refunds of one.";

    type Arguments = Arguments;
    type Answer = OrdersView;

    fn read(&self, conn: &mut Conn, arguments: Arguments) -> QueryResult<Result<About<OrdersView>, Denial>> {
        let limit = arguments.limit.unwrap_or(page::DEFAULT_LIMIT);
        let mut filter = match filter(&arguments) {
            Ok(filter) => filter,
            Err(denial) => return Ok(Err(denial)),
        };
        filter.limit = limit + 1;
        if let Some(cursor) = &arguments.cursor {
            let last = match page::continued(cursor) {
                Ok(name) => orders::by_name(conn, &name, Lock::No)?,
                Err(denial) => return Ok(Err(denial)),
            };
            let Some(last) = last else { return Ok(Err(page::unknown_cursor())) };
            filter.older_than = Some((last.created_at, last.id));
        }
        let (found, next_cursor) = page::split(orders::list(conn, &filter)?, limit, |order| &order.name);
        let orders = found.iter().map(OrderView::from).collect();
        Ok(Ok(About {
            answer: OrdersView { orders, next_cursor },
            subject: None,
        }))
    }
}

fn filter(arguments: &Arguments) -> Result<Filter, Denial> {
    let text = |text: &Option<String>| text.as_deref().map(fold).filter(|text| !text.is_empty());
    Ok(Filter {
        text: text(&arguments.query),
        email: text(&arguments.email),
        financial_status: arguments.financial_status,
        fulfillment_status: arguments.fulfillment_status,
        created_after: time("created_after", arguments.created_after.as_deref())?,
        created_before: time("created_before", arguments.created_before.as_deref())?,
        ..Filter::default()
    })
}

fn time(field: &str, text: Option<&str>) -> Result<Option<Timestamp>, Denial> {
    let Some(text) = text else { return Ok(None) };
    DateTime::parse_from_rfc3339(text)
        .ok()
        .and_then(|at| comparable(at.naive_utc()))
        .map(Some)
        .ok_or_else(|| {
            let message = format!("{field} must be a time in RFC 3339, such as 2025-12-06T15:36:16Z.");
            Denial::invalid(field, message)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339() {
        let utc = time("created_after", Some("2025-12-06T21:06:16+05:30")).unwrap().unwrap();
        assert_eq!(utc.to_string(), "2025-12-06 15:36:16");
        for bad in ["", "2025-12-06", "yesterday", "2025-13-01T00:00:00Z", "9999-12-31T23:59:59-23:59"] {
            assert_eq!(time("created_after", Some(bad)).unwrap_err().field.as_deref(), Some("created_after"));
        }
    }
}
