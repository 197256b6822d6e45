//! Products and their stock.

use diesel::{dsl::exists, prelude::*, sql_query, sql_types::Text};

use super::{ESCAPE, containing, schema::products};
use crate::{
    db::{Conn, Prepare, QueryResult, columns},
    kinds::Lock,
};

/// A product; one variant, one SKU.
#[derive(Debug, Clone, Queryable, Selectable, Insertable, QueryableByName)]
#[diesel(table_name = products)]
pub struct Product {
    pub id: String,
    /// Its public id.
    pub sku: String,
    pub title: String,
    /// SKU and title, folded for searches.
    pub folded: String,
    pub price_minor: i64,
    pub currency: String,
    /// Pieces; never below zero.
    pub stock: i64,
    /// One more with every write.
    pub version: i64,
}

impl Product {
    /// As actions and events name it.
    pub fn subject(&self) -> String {
        subject(&self.sku)
    }
}

/// As actions and events name a product of that SKU.
pub fn subject(sku: &str) -> String {
    format!("product:{sku}")
}

/// Which products a list shows.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Part of SKU or title, folded.
    pub text: Option<String>,
    /// Only products with a larger SKU.
    pub after_sku: Option<String>,
    pub limit: i64,
}

pub fn insert(conn: &mut Conn, product: &Product) -> QueryResult<()> {
    diesel::insert_into(products::table).values(product).execute(conn).map(|_| ())
}

/// Whether there is any product.
pub fn any(conn: &mut Conn) -> QueryResult<bool> {
    diesel::select(exists(products::table.select(products::id))).get_result(conn)
}

/// The product of that SKU; locked until the transaction ends, if asked.
pub fn by_sku(conn: &mut Conn, sku: &str, lock: Lock) -> QueryResult<Option<Product>> {
    if lock == Lock::Yes {
        return sql_query(format!(
            "UPDATE products SET version = version WHERE sku = $1 RETURNING {}",
            columns::<Product>()
        ))
        .bind::<Text, _>(sku)
        .prepared()
        .get_result(conn)
        .optional();
    }
    products::table
        .filter(products::sku.eq(sku))
        .select(Product::as_select())
        .first(conn)
        .optional()
}

/// A page of products by SKU.
pub fn list(conn: &mut Conn, filter: &Filter) -> QueryResult<Vec<Product>> {
    let mut query = products::table.select(Product::as_select()).order(products::sku.asc()).into_boxed();
    if let Some(text) = &filter.text {
        query = query.filter(products::folded.like(containing(text)).escape(ESCAPE));
    }
    if let Some(after) = &filter.after_sku {
        query = query.filter(products::sku.gt(after.clone()));
    }
    query.limit(filter.limit).load(conn)
}

/// Moves stock. The product must be locked.
pub fn move_stock(conn: &mut Conn, id: &str, delta: i64) -> QueryResult<usize> {
    diesel::update(products::table.find(id))
        .set((products::stock.eq(products::stock + delta), products::version.eq(products::version + 1)))
        .prepared()
        .execute(conn)
}
