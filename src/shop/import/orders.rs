//! Shopify's order export: a row per line; an order's first row carries the order.

use std::collections::HashMap;

use super::sheet::{Row, Sheet};
use crate::{
    error::Result,
    money,
    shop::tables::{
        effects::RefundRow,
        fold,
        orders::{Line, Order},
    },
    store::new_id,
};

/// An order with everything that belongs to it.
pub struct ImportedOrder {
    pub order: Order,
    pub lines: Vec<Line>,
    /// What went back before Countersign: one row, whatever it was made of.
    pub refund: Option<RefundRow>,
}

const COLUMNS: [&str; 14] = [
    "Name",
    "Email",
    "Financial Status",
    "Paid at",
    "Fulfillment Status",
    "Currency",
    "Total",
    "Created at",
    "Lineitem quantity",
    "Lineitem name",
    "Lineitem price",
    "Lineitem sku",
    "Cancelled at",
    "Refunded Amount",
];

/// Reads the orders of an export, in its order.
pub fn read(file: &str, text: &str) -> Result<Vec<ImportedOrder>> {
    let sheet = Sheet::read(file, text, &COLUMNS)?;
    let mut places = HashMap::new();
    let mut orders = Vec::<ImportedOrder>::new();
    for row in sheet.rows() {
        let name = row.required("Name")?.trim_start_matches('#');
        let place = match places.get(name) {
            Some(place) => *place,
            None => {
                places.insert(name, orders.len());
                orders.push(order(&row, format!("#{name}"))?);
                orders.len() - 1
            }
        };
        let line = line(&row, &orders[place])?;
        orders[place].lines.push(line);
    }
    Ok(orders)
}

fn order(row: &Row<'_>, name: String) -> Result<ImportedOrder> {
    let email = fold(row.required("Email")?);
    let currency = row.required("Currency")?;
    if money::exponent(currency).is_none() {
        return Err(row.wrong("Currency", "must be an ISO 4217 code such as INR"));
    }
    let created_at = row.time("Created at")?.ok_or_else(|| row.wrong("Created at", "is empty"))?;
    let refunded_minor = row.amount("Refunded Amount", currency)?;
    let order = Order {
        id: new_id(),
        folded: fold(&format!("{name} {email}")),
        name,
        email,
        financial_status: row.word("Financial Status")?,
        fulfillment_status: row.word("Fulfillment Status")?,
        cancelled_at: row.time("Cancelled at")?,
        currency: currency.to_owned(),
        // As the export has it, not the sum of the lines: shops count discounts and taxes in different ways.
        total_minor: row.amount("Total", currency)?,
        refunded_minor,
        created_at,
        version: 1,
    };
    if refunded_minor > order.total_minor {
        return Err(row.wrong("Refunded Amount", "is more than the total"));
    }
    let refund = RefundRow {
        id: new_id(),
        order_id: order.id.clone(),
        action_id: None,
        amount_minor: refunded_minor,
        refunded_at: row.time("Paid at")?.unwrap_or(created_at),
    };
    Ok(ImportedOrder {
        order,
        lines: Vec::new(),
        refund: (refunded_minor > 0).then_some(refund),
    })
}

fn line(row: &Row<'_>, of: &ImportedOrder) -> Result<Line> {
    let position = i32::try_from(of.lines.len()).map_err(|_| row.wrong("Name", "has too many lines"))?;
    Ok(Line {
        order_id: of.order.id.clone(),
        position,
        sku: row.text("Lineitem sku").to_owned(),
        name: row.required("Lineitem name")?.to_owned(),
        quantity: row.count("Lineitem quantity", 1)?,
        price_minor: row.amount("Lineitem price", &of.order.currency)?,
    })
}
