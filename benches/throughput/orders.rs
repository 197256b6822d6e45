//! As many orders as there are calls, each with one call of its own.

/// One order is this far from the next, and has room for the ids of what happens to it.
pub const APART: usize = 64;

/// What an order is found by.
pub struct Order {
    pub id: String,
    pub name: String,
}

impl Order {
    pub fn numbered(number: usize) -> Self {
        Self {
            id: format!("{:032x}", number * APART),
            name: format!("#{:032x}", number * APART + 1),
        }
    }
}

/// Inserts those up to `count`, in the words of either backend.
pub fn sql(count: usize, is_postgres: bool) -> String {
    let hex = |number: &str| {
        if is_postgres {
            format!("lpad(to_hex({number}), 32, '0')")
        } else {
            format!("printf('%032x', {number})")
        }
    };
    let (id, name) = (hex(&format!("i * {APART}")), hex(&format!("i * {APART} + 1")));
    format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}),
         pattern AS (SELECT * FROM orders WHERE financial_status = 'paid' AND cancelled_at IS NULL LIMIT 1)
         INSERT INTO orders (id, name, email, folded, financial_status, fulfillment_status, cancelled_at, currency,
             total_minor, refunded_minor, created_at, version)
         SELECT {id}, '#' || {name}, 'customer' || i || '@example.com', folded, financial_status, fulfillment_status, cancelled_at, 'EUR',
             100000, 0, created_at, 1 FROM n, pattern"
    )
}
