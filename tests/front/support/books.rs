//! What must hold whenever nobody is in the middle of anything: the books balance.

use std::collections::BTreeMap;

use serde_json::Value;

use super::rival::{Place, Rival};
use super::{Database, TestApp};

/// Each says what may not be found, and finds it.
const VIOLATIONS: &[(&str, &str)] = &[
    (
        "an order whose refunds are not what its sum says",
        "SELECT name AS t FROM orders o WHERE refunded_minor <>
         (SELECT COALESCE(SUM(amount_minor), 0) FROM refunds r WHERE r.order_id = o.id)",
    ),
    (
        "an order of which more than its total went back",
        "SELECT name AS t FROM orders WHERE refunded_minor NOT BETWEEN 0 AND total_minor",
    ),
    ("stock below zero", "SELECT sku AS t FROM products WHERE stock < 0"),
    (
        "an order that is cancelled without a cancellation, or not cancelled with one",
        "SELECT name AS t FROM orders o WHERE (cancelled_at IS NOT NULL) <>
         EXISTS (SELECT 1 FROM order_cancellations c WHERE c.order_id = o.id)",
    ),
    (
        "a refund that was not done exactly once when executed, and not at all otherwise",
        "SELECT id AS t FROM actions a WHERE (SELECT COUNT(*) FROM refunds r WHERE r.action_id = a.id) <>
         CASE WHEN kind = 'refund' AND status = 'executed' THEN 1 ELSE 0 END",
    ),
    (
        "a cancellation that was not done exactly once when executed, and not at all otherwise",
        "SELECT id AS t FROM actions a WHERE (SELECT COUNT(*) FROM order_cancellations c WHERE c.action_id = a.id) <>
         CASE WHEN kind = 'order_cancellation' AND status = 'executed' THEN 1 ELSE 0 END",
    ),
    (
        "a stock adjustment that was not done exactly once when executed, and not at all otherwise",
        "SELECT id AS t FROM actions a WHERE kind <> 'order_cancellation' AND
         (SELECT COUNT(*) FROM stock_movements m WHERE m.action_id = a.id) <>
         CASE WHEN kind = 'stock_adjustment' AND status = 'executed' THEN 1 ELSE 0 END",
    ),
    (
        "stock that moved with a cancellation that was not executed",
        "SELECT a.id AS t FROM stock_movements m JOIN actions a ON a.id = m.action_id WHERE status <> 'executed'",
    ),
    (
        "an effect without an action",
        "SELECT id AS t FROM refunds WHERE action_id IS NULL",
    ),
    (
        "an action without exactly one event of its decision",
        "SELECT id AS t FROM actions a WHERE
         (SELECT COUNT(*) FROM audit_events e
          WHERE e.action_id = a.id AND e.event IN ('approval', 'rejection', 'expiry')
          AND NOT e.denied AND e.outcome = a.status) <>
         CASE WHEN status IN ('executed', 'failed', 'rejected', 'expired') THEN 1 ELSE 0 END",
    ),
    (
        "an event of a decision that is not how the action ended",
        "SELECT a.id AS t FROM audit_events e JOIN actions a ON a.id = e.action_id
         WHERE e.category = 'decisions' AND NOT e.denied AND e.outcome <> a.status",
    ),
    (
        "an action without exactly one event of its request",
        "SELECT id AS t FROM actions a WHERE (SELECT COUNT(*) FROM audit_events e
         WHERE e.action_id = a.id AND e.event = 'tool_call' AND e.outcome = 'pending') <> 1",
    ),
    (
        "a withdrawn action without an event that says so",
        "SELECT id AS t FROM actions a WHERE status = 'withdrawn' AND NOT EXISTS (SELECT 1 FROM audit_events e
         WHERE e.action_id = a.id AND e.event = 'tool_call' AND e.outcome = 'withdrawn')",
    ),
    (
        "an action whose status and outcome disagree",
        "SELECT id AS t FROM actions WHERE (status = 'pending') <> (decided_at IS NULL)
         OR (status = 'executed') <> (result IS NOT NULL) OR (status = 'failed') <> (refusal_rule IS NOT NULL)
         OR (status IN ('executed', 'failed', 'rejected')) <> (decided_by IS NOT NULL)",
    ),
    ("a slot without an action", "SELECT key AS t FROM slots WHERE action_id IS NULL"),
    (
        "a slot that does not point at its latest action",
        "SELECT s.key AS t FROM slots s JOIN actions a ON a.id = s.action_id
         WHERE a.agent_id <> s.principal_id OR a.slot_key <> s.key OR a.attempt <> s.attempt
         OR a.fingerprint <> s.fingerprint",
    ),
    (
        "an action that is not among its slot's attempts",
        "SELECT a.id AS t FROM actions a LEFT JOIN slots s ON s.principal_id = a.agent_id AND s.key = a.slot_key
         WHERE s.attempt IS NULL OR s.attempt < a.attempt",
    ),
    (
        "an attempt that is not linked to the one before, or follows one that was still open",
        "SELECT a.id AS t FROM actions a LEFT JOIN actions p ON p.id = a.previous_action_id
         WHERE (a.attempt = 1) <> (a.previous_action_id IS NULL) OR p.agent_id <> a.agent_id
         OR p.slot_key <> a.slot_key OR p.attempt <> a.attempt - 1 OR p.status = 'pending'",
    ),
];

/// The books of one database. Nothing is held open between two looks into them.
pub struct Books {
    place: Place,
    /// The pieces of each product before anything moved, by its SKU.
    openings: BTreeMap<String, i64>,
}

impl Books {
    /// Opens the books on what is in stock now.
    pub fn open(database: &Database) -> Self {
        let place = Place::of(database);
        let openings = Self::without_movements(&mut place.rival());
        Self { place, openings }
    }

    /// Somebody counted the shelves: `delta` pieces more than thought.
    pub fn recount(&mut self, sku: &str, delta: i64) {
        *self.openings.get_mut(sku).unwrap() += delta;
    }

    /// Panics with everything that does not balance.
    #[track_caller]
    pub fn balance(&self) {
        let mut rival = self.place.rival();
        let mut found = Vec::new();
        for (what, query) in VIOLATIONS {
            found.extend(rival.texts(query).into_iter().map(|name| format!("{what}: {name}")));
        }
        let others = rival.texts(
            "SELECT a.effective_params || ' gave back ' || r.amount_minor AS t
             FROM refunds r JOIN actions a ON a.id = r.action_id",
        );
        found.extend(others.into_iter().filter(|line| !is_what_was_approved(line)));
        let openings = Self::without_movements(&mut rival);
        if openings != self.openings {
            found.push(format!("stock began as {:?}, says what moved: {openings:?}", self.openings));
        }
        assert!(found.is_empty(), "the books don't balance:\n{}", found.join("\n"));
    }

    /// Each product's stock less everything that moved.
    fn without_movements(rival: &mut Rival) -> BTreeMap<String, i64> {
        let found = rival.texts(
            "SELECT sku || ' ' || (stock - (SELECT COALESCE(SUM(delta), 0) FROM stock_movements m WHERE m.product_id = p.id))
             AS t FROM products p",
        );
        let parsed = found.iter().map(|line| line.rsplit_once(' ').unwrap());
        parsed.map(|(sku, stock)| (sku.to_owned(), stock.parse().unwrap())).collect()
    }
}

fn is_what_was_approved(line: &str) -> bool {
    let (params, amount) = line.rsplit_once(" gave back ").unwrap();
    let params: Value = serde_json::from_str(params).unwrap();
    params["amount_minor"].as_i64() == amount.parse().ok()
}

impl TestApp {
    /// The books as they are now; opened when all products are there.
    pub fn books(&self) -> Books {
        Books::open(&self.database)
    }
}
