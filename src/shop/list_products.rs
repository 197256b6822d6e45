//! `list_products`: products by SKU, with price and stock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    page,
    tables::{
        fold,
        products::{self, Filter, Product},
    },
};
use crate::{
    db::{Conn, QueryResult},
    error::Denial,
    kinds::{Read, typed::About},
    money,
};

/// The tool.
pub struct ListProducts;

#[derive(Deserialize, JsonSchema)]
pub struct Arguments {
    /// Part of SKU or title.
    #[schemars(length(max = 200))]
    query: Option<String>,
    #[schemars(range(min = 1, max = page::MAX_LIMIT))]
    limit: Option<i64>,
    /// next_cursor of the page before.
    #[schemars(length(max = 200))]
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct ProductsView {
    products: Vec<ProductView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct ProductView {
    sku: String,
    title: String,
    price_minor: i64,
    price_text: String,
    currency: String,
    stock: i64,
}

impl From<&Product> for ProductView {
    fn from(product: &Product) -> Self {
        Self {
            sku: product.sku.clone(),
            title: product.title.clone(),
            price_minor: product.price_minor,
            price_text: money::text(product.price_minor, &product.currency),
            currency: product.currency.clone(),
            stock: product.stock,
        }
    }
}

impl Read for ListProducts {
    const NAME: &'static str = "list_products";
    const SCOPE: &'static str = "inventory:read";
    const TITLE: &'static str = "List products";
    const DESCRIPTION: &'static str = "Products by SKU, with price and stock.";

    type Arguments = Arguments;
    type Answer = ProductsView;

    fn read(
        &self,
        conn: &mut Conn,
        arguments: Arguments,
    ) -> QueryResult<Result<About<ProductsView>, Denial>> {
        let limit = arguments.limit.unwrap_or(page::DEFAULT_LIMIT);
        let after_sku = match arguments.cursor.as_deref().map(page::continued).transpose() {
            Ok(sku) => sku,
            Err(denial) => return Ok(Err(denial)),
        };
        let filter = Filter {
            text: arguments.query.as_deref().map(fold).filter(|text| !text.is_empty()),
            after_sku,
            limit: limit + 1,
        };
        let (found, next_cursor) = page::split(products::list(conn, &filter)?, limit, |product| &product.sku);
        let products = found.iter().map(ProductView::from).collect();
        Ok(Ok(About {
            answer: ProductsView {
                products,
                next_cursor,
            },
            subject: None,
        }))
    }
}
