//! `/orders`: find an order.

use actix_web::web::Query;
use askama::Template;
use askama_web::WebTemplate;
use serde::Deserialize;

use super::{ROWS, delivery, number, said};
use crate::{
    auth::Visitor,
    kinds::Lock,
    shop::{
        money, page,
        tables::{
            fold,
            orders::{self, Filter, FinancialStatus, FulfillmentStatus, Order},
        },
    },
    text::filters,
    web::{
        history::Pick,
        link::{self, link},
        refused::Refused,
        shell::{Place, Shell},
        site::Site,
        when,
    },
};

/// What is asked for; a value that means nothing counts as absent.
#[derive(Deserialize, Default, Clone)]
#[serde(default)]
pub struct Choice {
    /// Part of the number or of the e-mail address.
    q: String,
    payment: String,
    delivery: String,
    cursor: String,
}

#[derive(Template, WebTemplate)]
#[template(path = "shop/orders.html")]
pub struct Page {
    shell: Shell,
    q: String,
    payments: Vec<Pick>,
    deliveries: Vec<Pick>,
    rows: Vec<Row>,
    older: Option<String>,
    newest: Option<String>,
}

struct Row {
    href: String,
    name: String,
    email: String,
    placed: String,
    payment: String,
    delivery: String,
    total: String,
    /// Nothing when nothing was.
    refunded: String,
}

/// The page.
pub async fn page(site: Site, visitor: Visitor, choice: Query<Choice>) -> Result<Page, Refused> {
    let choice = choice.into_inner();
    let shell = Shell::load(&site, &visitor, Place::Orders).await?;
    let asked = choice.clone();
    let read = site.gate.db.read(move |conn| {
        let last = match page::continued(&asked.cursor) {
            Ok(name) if !name.is_empty() => orders::by_name(conn, &name, Lock::No)?,
            _ => None,
        };
        orders::list(
            conn,
            &Filter {
                older_than: last.map(|order| (order.created_at, order.id)),
                ..asked.filter()
            },
        )
    });
    let (found, next) = page::split(read.await?, ROWS, |order| &order.name);
    Ok(Page {
        shell,
        payments: picks(FinancialStatus::ALL.iter().map(|status| status.as_str()), &choice.payment),
        deliveries: picks(FulfillmentStatus::ALL.iter().map(|status| status.as_str()), &choice.delivery),
        rows: found.iter().map(Row::of).collect(),
        older: next.map(|cursor| choice.address(&cursor)),
        newest: (!choice.cursor.is_empty()).then(|| choice.address("")),
        q: choice.q,
    })
}

impl Choice {
    fn filter(&self) -> Filter {
        Filter {
            text: Some(fold(&self.q)).filter(|text| !text.is_empty()),
            financial_status: self.payment.parse().ok(),
            fulfillment_status: self.delivery.parse().ok(),
            // One more than shown tells whether there is a next page.
            limit: ROWS + 1,
            ..Filter::default()
        }
    }

    fn address(&self, cursor: &str) -> String {
        let parameters = [
            ("q", self.q.as_str()),
            ("payment", self.payment.as_str()),
            ("delivery", self.delivery.as_str()),
            ("cursor", cursor),
        ];
        link("/orders", &parameters)
    }
}

impl Row {
    fn of(order: &Order) -> Self {
        let price = |minor| money::text(minor, &order.currency);
        Self {
            href: format!("/orders/{}", link::segment(number(&order.name))),
            name: order.name.clone(),
            email: order.email.clone(),
            placed: when::day(order.created_at),
            payment: said(order.financial_status.as_str()),
            delivery: delivery(order),
            total: price(order.total_minor),
            refunded: if order.refunded_minor == 0 {
                String::new()
            } else {
                price(order.refunded_minor)
            },
        }
    }
}

fn picks<'a>(words: impl Iterator<Item = &'a str>, chosen: &str) -> Vec<Pick> {
    words.map(|word| Pick::new(word, &said(word), chosen)).collect()
}
