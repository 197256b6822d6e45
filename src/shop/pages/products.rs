//! `/products`: what is in stock.

use askama::Template;
use askama_web::WebTemplate;

use super::ROWS;
use crate::{
    auth::Visitor,
    error::Denial,
    money,
    query::Query,
    shop::{
        page,
        tables::{
            fold,
            products::{self, Filter, Product},
        },
    },
    text::filters,
    web::{
        asked::{Asked, Question},
        link::link,
        refused::Refused,
        shell::{Place, Shell},
        site::Site,
    },
};

/// What is asked for.
pub struct Choice {
    /// Part of SKU or title.
    q: String,
    /// The last SKU of the page before.
    after: Option<String>,
}

impl Question for Choice {
    const KNOWN: &'static [&'static str] = &["q", "cursor"];

    fn read(query: &mut Query) -> Result<Self, Denial> {
        Ok(Self {
            q: query.text("q").unwrap_or_default(),
            after: query.text("cursor").map(|cursor| page::continued(&cursor)).transpose()?,
        })
    }
}

#[derive(Template, WebTemplate)]
#[template(path = "shop/products.html")]
pub struct Page {
    shell: Shell,
    q: String,
    rows: Vec<Row>,
    older: Option<String>,
    newest: Option<String>,
}

struct Row {
    sku: String,
    title: String,
    price: String,
    stock: i64,
}

/// The page.
pub async fn page(
    site: Site,
    visitor: Visitor,
    Asked(Choice { q, after }): Asked<Choice>,
) -> Result<Page, Refused> {
    let is_first = after.is_none();
    let shell = Shell::load(&site, &visitor, Place::Stock).await?;
    let filter = Filter {
        text: Some(fold(&q)).filter(|text| !text.is_empty()),
        after_sku: after,
        // One more than shown tells whether there is a next page.
        limit: ROWS + 1,
    };
    let found = site.gate.db.read(move |conn| products::list(conn, &filter)).await?;
    let (found, next) = page::split(found, ROWS, |product| &product.sku);
    let row = |product: &Product| Row {
        sku: product.sku.clone(),
        title: product.title.clone(),
        price: money::text(product.price_minor, &product.currency),
        stock: product.stock,
    };
    Ok(Page {
        shell,
        rows: found.iter().map(row).collect(),
        older: next.map(|cursor| link("/products", &[("q", &q), ("cursor", &cursor)])),
        newest: (!is_first).then(|| link("/products", &[("q", &q)])),
        q,
    })
}
