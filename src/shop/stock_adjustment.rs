//! `stock_adjustment`: the stock of one product goes up or down.

use std::time::Duration;

use askama::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    reference,
    tables::{
        effects::{self, MovementRow},
        products::{self, Product},
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

/// How many earlier movements an approver is shown.
const EARLIER: i64 = 5;

/// The kind.
#[derive(Clone)]
pub struct StockAdjustment {
    /// The largest change one request may ask for, in pieces.
    pub max_delta: i64,
}

#[derive(Deserialize, JsonSchema)]
pub struct Arguments {
    #[schemars(length(min = 1, max = 128))]
    sku: String,
    /// Pieces to add; negative to take away.
    #[schemars(range(min = -9_007_199_254_740_991_i64, max = 9_007_199_254_740_991_i64))]
    delta: i64,
}

#[derive(Serialize, Deserialize)]
pub struct Params {
    sku: String,
    delta: i64,
}

/// The product and how its stock moved before.
pub struct Record {
    product: Product,
    movements: Vec<MovementRow>,
}

#[derive(Template)]
#[template(path = "kinds/stock_adjustment.html")]
struct Facts<'a> {
    product: &'a Product,
    price: String,
    movements: Vec<String>,
}

impl ActionKind for StockAdjustment {
    const NAME: &'static str = "stock_adjustment";
    const VERSION: i32 = 1;
    const SCOPE: &'static str = "inventory:write";
    const TITLE: &'static str = "Stock change";
    const DESCRIPTION: &'static str = "Asks to change a product's stock. It only queues a request: nothing has happened until a person approves. \
         Then ask a person to open review_url, or call get_action_status. To retry, send the same call again.";
    // Short, because two genuine changes by the same number are normal on one day.
    const RETRY_WINDOW: Duration = Duration::from_secs(5 * 60);
    const DESTRUCTIVE: bool = false;
    const MEASURE: Measure = Measure::Pieces;

    type Arguments = Arguments;
    type Params = Params;
    type Record = Record;

    fn resolve(&self, conn: &mut Conn, arguments: Arguments) -> QueryResult<Result<Params, Denial>> {
        let product = reference::product(conn, &arguments.sku)?;
        Ok(product.map(|product| Params {
            sku: product.sku,
            delta: arguments.delta,
        }))
    }

    fn load(&self, conn: &mut Conn, params: &Params, lock: Lock) -> QueryResult<Option<Record>> {
        let Some(product) = products::by_sku(conn, &params.sku, lock)? else {
            return Ok(None);
        };
        Ok(Some(Record {
            movements: effects::movements_of(conn, &product.id, EARLIER)?,
            product,
        }))
    }

    fn versions(&self, record: &Record) -> Versions {
        Versions::from([(record.product.subject(), record.product.version)])
    }

    fn check(&self, params: &Params, record: &Record) -> Result<(), Refusal> {
        let product = &record.product;
        if params.delta == 0 {
            return Err(Refusal::new("delta_zero", "A change by 0 changes nothing; name how many pieces."));
        }
        if params.delta.unsigned_abs() > self.max_delta.unsigned_abs() {
            let message = "That is more than one request may change. Check the number, and ask a person if it is right.";
            return Err(Refusal::new("delta_too_large", message));
        }
        match product.stock.checked_add(params.delta) {
            None => Err(Refusal::new(
                "stock_overflow",
                format!("The stock of {} can't hold that many pieces.", product.sku),
            )),
            Some(..0) => Err(Refusal::new(
                "stock_below_zero",
                format!("Only {} of {} are in stock.", product.stock, product.sku),
            )),
            Some(_) => Ok(()),
        }
    }

    fn wording(&self, params: &Params, _: &Record) -> Wording {
        let figure = format!("{:+}", params.delta);
        Wording {
            summary: format!("Change the stock of {} by {figure}", params.sku),
            headline: format!("Stock {}", params.sku),
            figure,
            amount: Some(Amount::pieces(params.delta)),
        }
    }

    fn preview(&self, params: &Params, record: &Record) -> Preview {
        let product = &record.product;
        // Saturating, for a preview of what the rules refuse anyway.
        let after = product.stock.saturating_add(params.delta);
        let moved = |movement: &MovementRow| {
            let day = movement.moved_at.format("%-d %b %Y, %H:%M UTC");
            format!("{:+} to {} on {day}", movement.delta, movement.stock_after)
        };
        let facts = Facts {
            product,
            price: money::text(product.price_minor, &product.currency),
            movements: record.movements.iter().map(moved).collect(),
        };
        Preview {
            changes: vec![Change::new("Stock", product.stock.to_string(), after.to_string())],
            facts: facts.render().expect("the template renders"),
        }
    }

    fn apply(
        &self,
        conn: &mut Conn,
        effect: &Effect<'_>,
        params: &Params,
        record: &Record,
    ) -> QueryResult<Value> {
        let product = &record.product;
        let movement = MovementRow::to(product, product.stock + params.delta, effect);
        effects::insert_movement(conn, &movement)?;
        products::move_stock(conn, &product.id, movement.delta).and_then(must_be_one)?;
        Ok(json!({ "sku": product.sku, "delta": movement.delta, "stock": movement.stock_after }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shop::testing::product;

    const KIND: StockAdjustment = StockAdjustment { max_delta: 1000 };

    fn check(delta: i64, stock: i64) -> Result<(), Refusal> {
        let params = Params {
            sku: "CB-ETH-500".to_owned(),
            delta,
        };
        let record = Record {
            product: product("CB-ETH-500", stock),
            movements: Vec::new(),
        };
        // A preview is made of what is refused, too.
        KIND.preview(&params, &record);
        KIND.check(&params, &record)
    }

    fn rule(delta: i64, stock: i64) -> Option<&'static str> {
        check(delta, stock).err().map(|refusal| refusal.rule)
    }

    #[test]
    fn stock_never_goes_below_zero() {
        assert_eq!(rule(-12, 12), None);
        assert_eq!(rule(-13, 12), Some("stock_below_zero"));
        assert_eq!(rule(-1, 0), Some("stock_below_zero"));
        assert_eq!(rule(1, 0), None);
    }

    #[test]
    fn a_change_is_some_pieces_and_not_too_many() {
        assert_eq!(rule(0, 12), Some("delta_zero"));
        assert_eq!(rule(1000, 12), None);
        assert_eq!(rule(-1000, 1000), None);
        for delta in [1001, -1001, i64::MAX, i64::MIN] {
            assert_eq!(rule(delta, 12), Some("delta_too_large"), "{delta}");
        }
        assert!(!check(1001, 12).unwrap_err().message.contains("1000"), "a limit stays inside");
        assert_eq!(rule(1000, i64::MAX - 999), Some("stock_overflow"));
    }
}
