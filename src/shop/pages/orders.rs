//! `/orders`: find an order.

use askama::Template;
use askama_web::WebTemplate;

use super::{ROWS, delivery, said};
use crate::{
    auth::Visitor,
    error::Denial,
    kinds::Lock,
    money,
    query::Query,
    shop::{
        page,
        tables::{
            fold,
            orders::{self, Filter, FinancialStatus, FulfillmentStatus, Order},
        },
    },
    text::filters,
    web::{
        asked::{Asked, Question},
        filter::Pick,
        link::{self, link},
        refused::Refused,
        shell::{Place, Shell},
        site::Site,
        when,
    },
};

/// What is asked for.
#[derive(Clone)]
pub struct Choice {
    /// Part of the number or of the e-mail address.
    q: String,
    payment: Option<FinancialStatus>,
    delivery: Option<FulfillmentStatus>,
    /// The public id of the last order of the page before.
    after: Option<String>,
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
pub async fn page(site: Site, visitor: Visitor, Asked(choice): Asked<Choice>) -> Result<Page, Refused> {
    let shell = Shell::load(&site, &visitor, Place::Orders).await?;
    let asked = choice.clone();
    let read = site.gate.db.read(move |conn| {
        let last = match &asked.after {
            Some(name) => match orders::by_name(conn, name, Lock::No)? {
                Some(last) => Some((last.created_at, last.id)),
                None => return Ok(Err(page::unknown_cursor())),
            },
            None => None,
        };
        let filter = Filter {
            older_than: last,
            ..asked.filter()
        };
        orders::list(conn, &filter).map(Ok)
    });
    let found = read.await?.map_err(|denial| Refused::from(denial).in_list("/orders"))?;
    let (found, next) = page::split(found, ROWS, |order| &order.name);
    Ok(Page {
        shell,
        payments: picks(
            FinancialStatus::ALL.iter().map(|status| status.as_str()),
            choice.payment.map_or("", FinancialStatus::as_str),
        ),
        deliveries: picks(
            FulfillmentStatus::ALL.iter().map(|status| status.as_str()),
            choice.delivery.map_or("", FulfillmentStatus::as_str),
        ),
        rows: found.iter().map(Row::of).collect(),
        older: next.map(|cursor| choice.address(&cursor)),
        newest: choice.after.is_some().then(|| choice.address("")),
        q: choice.q,
    })
}

impl Question for Choice {
    const KNOWN: &'static [&'static str] = &["q", "payment", "delivery", "cursor"];

    fn read(query: &mut Query) -> Result<Self, Denial> {
        Ok(Self {
            q: query.text("q").unwrap_or_default(),
            payment: query.parsed("payment")?,
            delivery: query.parsed("delivery")?,
            after: query.text("cursor").map(|cursor| page::continued(&cursor)).transpose()?,
        })
    }
}

impl Choice {
    fn filter(&self) -> Filter {
        Filter {
            text: Some(fold(&self.q)).filter(|text| !text.is_empty()),
            financial_status: self.payment,
            fulfillment_status: self.delivery,
            // One more than shown tells whether there is a next page.
            limit: ROWS + 1,
            ..Filter::default()
        }
    }

    fn address(&self, cursor: &str) -> String {
        let parameters = [
            ("q", self.q.as_str()),
            ("payment", self.payment.map_or("", FinancialStatus::as_str)),
            ("delivery", self.delivery.map_or("", FulfillmentStatus::as_str)),
            ("cursor", cursor),
        ];
        link("/orders", &parameters)
    }
}

impl Row {
    fn of(order: &Order) -> Self {
        let price = |minor| money::text(minor, &order.currency);
        Self {
            href: link::order(&order.name),
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
