//! `check_stock`: the stock of one product.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference;
use crate::{
    db::{Clock, Conn, QueryResult},
    error::Denial,
    kinds::{Read, typed::About},
    workflow::view::rfc3339,
};

/// The tool.
pub struct CheckStock {
    /// Tells when the stock was read.
    pub clock: Clock,
}

#[derive(Deserialize, JsonSchema)]
pub struct Arguments {
    #[schemars(length(min = 1, max = 128))]
    sku: String,
}

#[derive(Serialize, JsonSchema)]
pub struct StockView {
    sku: String,
    title: String,
    stock: i64,
    as_of: String,
}

impl Read for CheckStock {
    const NAME: &'static str = "check_stock";
    const SCOPE: &'static str = "inventory:read";
    const TITLE: &'static str = "Check stock";
    const DESCRIPTION: &'static str = "How many pieces of a product are in stock now.";

    type Arguments = Arguments;
    type Answer = StockView;

    fn read(&self, conn: &mut Conn, arguments: Arguments) -> QueryResult<Result<About<StockView>, Denial>> {
        let product = match reference::product(conn, &arguments.sku)? {
            Ok(product) => product,
            Err(denial) => return Ok(Err(denial)),
        };
        let subject = product.subject();
        let view = StockView {
            as_of: rfc3339(self.clock.now(conn)?),
            sku: product.sku,
            title: product.title,
            stock: product.stock,
        };
        Ok(Ok(About {
            answer: view,
            subject: Some(subject),
        }))
    }
}
