//! Exports that can be loaded, and those that are refused with a sentence.

use super::*;
use crate::shop::tables::orders::FinancialStatus;

fn orders(rows: &str) -> Result<Vec<ImportedOrder>> {
    let header = "Name,Email,Financial Status,Paid at,Fulfillment Status,Currency,Total,Created at,Lineitem quantity,\
                  Lineitem name,Lineitem price,Lineitem sku,Cancelled at,Refunded Amount,Notes";
    read_orders("orders.csv", &format!("{header}\n{rows}"))
}

fn mistake<T>(read: Result<T>) -> String {
    read.err().expect("a mistake").to_string()
}

#[test]
fn the_demo_shop_is_whole() {
    let products = read_products(PRODUCTS.0, PRODUCTS.1).unwrap();
    let orders = read_orders(ORDERS.0, ORDERS.1).unwrap();
    assert_eq!((products.len(), orders.len()), (62, 200));
    let order = orders.iter().find(|imported| imported.order.name == "#1044").unwrap();
    assert_eq!((order.order.total_minor, order.order.currency.as_str()), (1_775_828, "INR"));
    assert_eq!(order.order.created_at.to_string(), "2025-12-06 15:36:16");
    let lines: Vec<_> = order.lines.iter().map(|line| (line.quantity, line.sku.as_str())).collect();
    assert_eq!(lines, [(3, "CN-LAV-3WK"), (1, "WH-BT-001"), (2, "CF-ETH-1KG")]);
    for status in FinancialStatus::ALL {
        assert!(orders.iter().any(|imported| imported.order.financial_status == *status), "{status}");
    }
    for imported in &orders {
        let refunded = imported.refund.as_ref().map_or(0, |refund| refund.amount_minor);
        assert_eq!(refunded, imported.order.refunded_minor, "{}", imported.order.name);
        for line in &imported.lines {
            assert!(products.iter().any(|product| product.sku == line.sku), "{}", line.sku);
        }
    }
}

#[test]
fn rows_of_one_name_are_one_order() {
    let read = orders(
        "1,A@Example.com ,paid,2025-01-02 00:00:00 +0530,unfulfilled,JPY,300.00,2025-01-01 23:30:00 +0000,1,One,100,A,,100,\"two\nlines\"\n\
         #2,b@example.com,pending,,partial,BHD,1.500,2025-01-01 00:00:00 -0100,1,Other,1.5,,2025-01-03 00:00:00 +0000,,\n\
         1,a@example.com,,,,,,2025-01-01 23:30:00 +0000,2,Two,100.00,B,,,\n",
    )
    .unwrap();
    let [first, second] = read.as_slice() else { panic!("two orders") };
    assert_eq!((first.order.name.as_str(), first.order.email.as_str()), ("#1", "a@example.com"));
    assert_eq!((first.order.total_minor, first.order.refunded_minor), (300, 100));
    assert_eq!(first.lines.iter().map(|line| line.position).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(first.refund.as_ref().unwrap().refunded_at.to_string(), "2025-01-01 18:30:00");
    assert_eq!((second.order.total_minor, second.lines[0].price_minor), (1500, 1500));
    assert_eq!(second.order.created_at.to_string(), "2025-01-01 01:00:00");
    assert!(second.refund.is_none() && second.order.cancelled_at.is_some());
}

#[test]
fn a_mistake_is_named_by_file_line_and_column() {
    let with = |cells: &str| mistake(orders(&format!("#1,a@b.c,{cells}\n")));
    insta::assert_snapshot!(
        [
            with("owed,,unfulfilled,INR,1.00,2025-01-01 00:00:00 +0000,1,One,1.00,A,,,"),
            with("paid,,unfulfilled,RUPEE,1.00,2025-01-01 00:00:00 +0000,1,One,1.00,A,,,"),
            with("paid,,unfulfilled,INR,\"1,000.00\",2025-01-01 00:00:00 +0000,1,One,1.00,A,,,"),
            with("paid,,unfulfilled,INR,1.00,2025-01-01,1,One,1.00,A,,,"),
            with("paid,,unfulfilled,INR,1.00,2025-01-01 00:00:00 +0000,0,One,1.00,A,,,"),
            with("paid,,unfulfilled,INR,1.00,2025-01-01 00:00:00 +0000,1,One,1.00,A,,1.01,"),
            with("paid"),
            mistake(read_orders("orders.csv", "Name,Email\n")),
            mistake(read_products("products.csv", "Title,Variant SKU,Variant Inventory Qty,Variant Price\nOne,A,1,1.00\nTwo,A,1,1.00\n")),
            mistake(read_products("products.csv", "Title,Variant SKU,Variant Inventory Qty,Variant Price\nOne,A,-1,1.00\n")),
        ]
        .join("\n"),
        @r#"
    orders.csv, line 2, column "Financial Status" must be one of pending, paid, partially_refunded, refunded, voided.
    orders.csv, line 2, column "Currency" must be an ISO 4217 code such as INR.
    orders.csv, line 2, column "Total" must be an amount in INR such as 4999.00.
    orders.csv, line 2, column "Created at" must be a time such as 2025-12-06 15:36:16 +0000.
    orders.csv, line 2, column "Lineitem quantity" must be a whole number from 1.
    orders.csv, line 2, column "Refunded Amount" is more than the total.
    orders.csv, line 2: there are 3 columns instead of 15.
    orders.csv, line 1: there is no column "Financial Status".
    products.csv, line 3, column "Variant SKU" names A a second time.
    products.csv, line 2, column "Variant Inventory Qty" must be a whole number from 0.
    "#
    );
}
