//! `/products`: what is in stock.

use actix_web::web::Query;
use askama::Template;
use askama_web::WebTemplate;
use serde::Deserialize;

use super::ROWS;
use crate::{
    auth::Visitor,
    shop::{
        money, page,
        tables::{
            fold,
            products::{self, Filter, Product},
        },
    },
    text::filters,
    web::{
        link::link,
        refused::Refused,
        shell::{Place, Shell},
        site::Site,
    },
};

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Choice {
    /// Part of SKU or title.
    q: String,
    cursor: String,
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
pub async fn page(site: Site, visitor: Visitor, choice: Query<Choice>) -> Result<Page, Refused> {
    let Choice { q, cursor } = choice.into_inner();
    let shell = Shell::load(&site, &visitor, Place::Stock).await?;
    let filter = Filter {
        text: Some(fold(&q)).filter(|text| !text.is_empty()),
        after_sku: page::continued(&cursor).ok().filter(|sku| !sku.is_empty()),
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
        newest: (!cursor.is_empty()).then(|| link("/products", &[("q", &q)])),
        q,
    })
}
