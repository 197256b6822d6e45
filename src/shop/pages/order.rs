//! `/orders/{id}`: one order with its lines, its refunds, and what agents asked for on it.

use actix_web::web::Path;
use askama::Template;
use askama_web::WebTemplate;

use super::{delivery, said};
use crate::{
    auth::Visitor,
    db::Timestamp,
    error::{Code, Denial},
    money,
    shop::{
        order_record::orders_in_words,
        reference,
        tables::{
            effects::{self, RefundRow},
            orders::{self, Line, Order},
        },
    },
    text::filters,
    web::{
        action::other::Other,
        refused::Refused,
        shell::{Place, Shell},
        site::Site,
        when,
    },
    workflow::Gate,
};

#[derive(Template, WebTemplate)]
#[template(path = "shop/order.html")]
pub struct Page {
    shell: Shell,
    name: String,
    email: String,
    customer_orders: String,
    placed: String,
    payment: String,
    delivery: String,
    cancelled: Option<String>,
    total: String,
    refunded: String,
    left: String,
    lines: Vec<LineRow>,
    refunds: Vec<Refunded>,
    actions: Vec<Other>,
}

struct LineRow {
    sku: String,
    name: String,
    quantity: i64,
    price: String,
    sum: String,
}

struct Refunded {
    amount: String,
    at: String,
    /// The action's page; none for a refund from before Countersign.
    href: Option<String>,
}

/// The page. `1044` names the order as `#1044` does.
pub async fn page(site: Site, visitor: Visitor, id: Path<String>) -> Result<Page, Refused> {
    let shell = Shell::load(&site, &visitor, Place::Orders).await?;
    let (gate, id) = (Gate::clone(&site.gate), id.into_inner());
    let read = site.gate.db.read(move |conn| {
        let Ok(order) = reference::order(conn, &id)? else { return Ok(None) };
        Ok(Some((
            orders::lines(conn, &order.id)?,
            effects::refunds_of(conn, &order.id)?,
            orders::count_of(conn, &order.email)?,
            gate.on_record(conn, &order.subject())?,
            gate.clock.now(conn)?,
            order,
        )))
    });
    let found = read.await?.ok_or_else(|| Denial::new(Code::NotFound, "There is no such order."))?;
    let (lines, refunds, customer_orders, actions, now, order) = found;
    let price = |minor| money::text(minor, &order.currency);
    Ok(Page {
        shell,
        customer_orders: orders_in_words(customer_orders),
        placed: when::full(order.created_at),
        payment: said(order.financial_status.as_str()),
        delivery: delivery(&order),
        cancelled: order.cancelled_at.map(when::full),
        total: price(order.total_minor),
        refunded: price(order.refunded_minor),
        left: price(order.refundable_minor()),
        lines: lines.iter().map(|line| LineRow::of(line, &order)).collect(),
        refunds: refunds.iter().map(|refund| Refunded::of(refund, &order, now)).collect(),
        actions: actions.iter().map(|one| Other::of(one, now)).collect(),
        name: order.name,
        email: order.email,
    })
}

impl LineRow {
    fn of(line: &Line, order: &Order) -> Self {
        Self {
            sku: line.sku.clone(),
            name: line.name.clone(),
            quantity: line.quantity,
            price: money::text(line.price_minor, &order.currency),
            sum: money::text(line.price_minor.saturating_mul(line.quantity), &order.currency),
        }
    }
}

impl Refunded {
    fn of(refund: &RefundRow, order: &Order, now: Timestamp) -> Self {
        Self {
            amount: money::text(refund.amount_minor, &order.currency),
            at: when::moment(refund.refunded_at, now),
            href: refund.action_id.as_ref().map(|id| format!("/actions/{id}")),
        }
    }
}
