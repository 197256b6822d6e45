//! Shopify's product export: a row per variant.

use std::collections::HashSet;

use super::sheet::Sheet;
use crate::{
    error::Result,
    shop::tables::{fold, products::Product},
    store::new_id,
};

/// The export names no currency; prices are in the shop's own.
const CURRENCY: &str = "INR";

/// Reads the products of an export, drafts and archived ones too: old orders name them.
pub fn read(file: &str, text: &str) -> Result<Vec<Product>> {
    let columns = ["Title", "Variant SKU", "Variant Inventory Qty", "Variant Price"];
    let sheet = Sheet::read(file, text, &columns)?;
    let mut seen = HashSet::new();
    let mut products = Vec::new();
    for row in sheet.rows() {
        let (sku, title) = (row.required("Variant SKU")?, row.required("Title")?);
        if !seen.insert(sku) {
            return Err(row.wrong("Variant SKU", &format!("names {sku} a second time")));
        }
        products.push(Product {
            id: new_id(),
            sku: sku.to_owned(),
            title: title.to_owned(),
            folded: fold(&format!("{sku} {title}")),
            price_minor: row.amount("Variant Price", CURRENCY)?,
            currency: CURRENCY.to_owned(),
            stock: row.count("Variant Inventory Qty", 0)?,
            version: 1,
        });
    }
    Ok(products)
}
