//! What a cancelled order's lines do to the stock.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    db::{Conn, QueryResult, must_be_one},
    kinds::{Change, Effect, Lock},
    shop::tables::{
        effects::{self, MovementRow},
        orders::Line,
        products::{self, Product},
    },
};

/// Where the lines go; nothing where they stay away from the stock.
#[derive(Default)]
pub struct Restocking {
    pub returns: Vec<Return>,
    /// Lines whose SKU is no product any more.
    pub missing: Vec<Line>,
}

/// What goes back into a product's stock: the lines of one SKU, summed.
pub struct Return {
    pub product: Product,
    /// `None` when that many pieces can't be counted.
    pub stock_after: Option<i64>,
}

impl Restocking {
    /// Of these lines, into products as `product` finds them, asked by SKU: the order in which they are locked everywhere.
    pub fn of(
        lines: &[Line],
        mut product: impl FnMut(&str) -> QueryResult<Option<Product>>,
    ) -> QueryResult<Self> {
        let mut by_sku = BTreeMap::<&str, Vec<&Line>>::new();
        for line in lines {
            by_sku.entry(&line.sku).or_default().push(line);
        }
        let mut restocking = Self::default();
        for (sku, lines) in by_sku {
            match product(sku)? {
                Some(product) => restocking.returns.push(Return::of(product, &lines)),
                None => restocking.missing.extend(lines.into_iter().cloned()),
            }
        }
        Ok(restocking)
    }

    /// Of these lines, into the products of the shop.
    pub fn load(conn: &mut Conn, lines: &[Line], lock: Lock) -> QueryResult<Self> {
        Self::of(lines, |sku| products::by_sku(conn, sku, lock))
    }

    /// A product whose stock can't hold what would come back.
    pub fn overflow(&self) -> Option<&Product> {
        self.returns.iter().find(|back| back.stock_after.is_none()).map(|back| &back.product)
    }

    /// The stock before and after.
    pub fn changes(&self) -> Vec<Change> {
        let unchanged = self.returns.is_empty().then(|| Change::same("Stock", "unchanged"));
        let missing = self.missing.iter().map(|line| {
            let name = if line.sku.is_empty() { &line.name } else { &line.sku };
            Change::same(format!("Stock of {name}"), "no longer a product, not restocked")
        });
        unchanged
            .into_iter()
            .chain(self.returns.iter().map(Return::change))
            .chain(missing)
            .collect()
    }

    /// Moves the stock, and answers what moved.
    pub fn apply(&self, conn: &mut Conn, effect: &Effect<'_>) -> QueryResult<Vec<Value>> {
        let countable = self.returns.iter().filter_map(|back| Some((&back.product, back.stock_after?)));
        let mut moved = Vec::new();
        for (product, stock_after) in countable {
            let movement = MovementRow::to(product, stock_after, effect);
            effects::insert_movement(conn, &movement)?;
            products::move_stock(conn, &product.id, movement.delta).and_then(must_be_one)?;
            moved.push(json!({ "sku": product.sku, "delta": movement.delta, "stock": stock_after }));
        }
        Ok(moved)
    }
}

impl Return {
    fn of(product: Product, lines: &[&Line]) -> Self {
        let pieces: i128 = lines.iter().map(|line| i128::from(line.quantity)).sum();
        Self {
            stock_after: i64::try_from(i128::from(product.stock) + pieces).ok(),
            product,
        }
    }

    fn change(&self) -> Change {
        let after = self.stock_after.map_or_else(|| "too many".to_owned(), |stock| stock.to_string());
        Change::new(format!("Stock of {}", self.product.sku), self.product.stock.to_string(), after)
    }
}
