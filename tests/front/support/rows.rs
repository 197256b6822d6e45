//! What the database holds, counted: a test that says "nothing was stored" looks here.

use std::collections::BTreeMap;

use countersign::db::{Conn, QueryResult};
use countersign::store::events::{self, Filter};
use diesel::sql_types::BigInt;
use diesel::{QueryableByName, RunQueryDsl, sql_query};
use serde_json::Value;

use super::TestApp;
use super::rival::Rival;

/// Figures that grow with every write, each under the name of what it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows(BTreeMap<&'static str, i64>);

/// A change to an order or a product raises its version; everything else is a row.
const FIGURES: [(&str, &str); 14] = [
    ("actions", "SELECT count(*) AS figure FROM actions"),
    ("slots", "SELECT count(*) AS figure FROM slots"),
    ("decisions", "SELECT count(*) AS figure FROM actions WHERE decided_at IS NOT NULL"),
    ("refunds", "SELECT count(*) AS figure FROM refunds"),
    ("cancellations", "SELECT count(*) AS figure FROM order_cancellations"),
    ("movements", "SELECT count(*) AS figure FROM stock_movements"),
    (
        "changed orders",
        "SELECT CAST(coalesce(sum(version - 1), 0) AS BIGINT) AS figure FROM orders",
    ),
    (
        "changed products",
        "SELECT CAST(coalesce(sum(version - 1), 0) AS BIGINT) AS figure FROM products",
    ),
    ("pauses", "SELECT count(*) AS figure FROM pauses"),
    ("notices", "SELECT count(*) AS figure FROM notices"),
    ("messages", "SELECT count(*) AS figure FROM outbox"),
    ("items", "SELECT count(*) AS figure FROM outbox_items"),
    (
        "wishes",
        "SELECT (SELECT count(*) FROM notification_settings) + (SELECT count(*) FROM notification_rules)
         + (SELECT count(*) FROM notification_mutes) AS figure",
    ),
    ("events", "SELECT count(*) AS figure FROM audit_events"),
];

impl TestApp {
    /// Counts everything.
    pub async fn rows(&self) -> Rows {
        let counted = self.inner.db.read(|conn| {
            FIGURES
                .iter()
                .map(|(name, query)| Ok((*name, figure(conn, query)?)))
                .collect::<QueryResult<_>>()
        });
        Rows(counted.await.unwrap())
    }

    /// What has grown since, and by how much.
    pub async fn grown_since(&self, earlier: &Rows) -> Vec<(&'static str, i64)> {
        let now = self.rows().await;
        let growth = now.0.iter().map(|(name, figure)| (*name, figure - earlier.0[name]));
        growth.filter(|(_, by)| *by != 0).collect()
    }

    /// Asserts that denials of so many kinds since then were recorded, once in each minute, and that nothing else was.
    pub async fn only_denials_since(&self, earlier: &Rows, kinds: i64) {
        let grown = self.grown_since(earlier).await;
        // A test takes less than a minute, and may see one begin.
        let few = matches!(grown[..], [("events", events)] if (kinds..=2 * kinds).contains(&events));
        assert!(few, "{grown:?}, not {kinds} kinds of denials");
    }

    /// The newest event of the audit log.
    pub async fn last_event(&self) -> Value {
        let newest = Filter {
            limit: 1,
            ..Filter::default()
        };
        let events = self.inner.db.read(move |conn| events::page(conn, &newest)).await.unwrap();
        serde_json::from_str(&events[0].body).unwrap()
    }

    /// Runs a statement as somebody would who sits at the database.
    pub async fn sql(&self, statement: &'static str) {
        self.inner.db.write(move |conn| sql_query(statement).execute(conn)).await.unwrap();
    }
}

impl Rival {
    /// All that a refused call must leave as it was.
    #[track_caller]
    pub fn everything(&mut self) -> Vec<String> {
        self.texts(
            "SELECT 'action ' || id || ' ' || status || ' ' || lock_no AS t FROM actions
             UNION ALL SELECT 'slot ' || key || ' ' || attempt || ' ' || touches FROM slots
             UNION ALL SELECT 'order ' || name || ' ' || refunded_minor || ' ' || version FROM orders
             UNION ALL SELECT 'product ' || sku || ' ' || stock || ' ' || version FROM products
             UNION ALL SELECT 'refund ' || id FROM refunds
             UNION ALL SELECT 'cancellation ' || action_id FROM order_cancellations
             UNION ALL SELECT 'movement ' || action_id FROM stock_movements
             UNION ALL SELECT 'subject ' || action_id || ' ' || subject || ' ' || version FROM action_subjects
             UNION ALL SELECT 'agent ' || id || ' ' || scopes || ' ' || lock_no || CASE WHEN revoked_at IS NULL
             THEN '' ELSE ' revoked' END FROM agents
             UNION ALL SELECT 'person ' || id || ' ' || role || ' ' || password_hash || ' ' || lock_no
             || CASE WHEN enabled THEN '' ELSE ' disabled' END FROM people
             UNION ALL SELECT 'credential ' || prefix || CASE WHEN revoked_at IS NULL THEN '' ELSE ' revoked' END
             FROM credentials
             UNION ALL SELECT 'session ' || prefix || CASE WHEN ended_at IS NULL THEN '' ELSE ' ended' END FROM sessions
             UNION ALL SELECT 'pause ' || target FROM pauses
             UNION ALL SELECT 'bucket ' || agent_id || ' ' || CAST(arrival_at AS TEXT) FROM write_buckets
             UNION ALL SELECT 'denials ' || event || ' ' || actor_id || ' ' || code || ' ' || denials FROM floods
             UNION ALL SELECT 'notice ' || id || ' ' || topic FROM notices
             UNION ALL SELECT 'message ' || id || ' ' || status || ' ' || attempts FROM outbox
             UNION ALL SELECT 'item ' || message_id || ' ' || notice_id FROM outbox_items
             UNION ALL SELECT 'clock ' || person_id || ' ' || time_zone || ' ' || COALESCE(quiet_from, -1) || ' '
             || COALESCE(quiet_until, -1) FROM notification_settings
             UNION ALL SELECT 'rule ' || person_id || ' ' || kind || ' ' || unit || ' ' || from_amount || ' ' || timing
             FROM notification_rules
             UNION ALL SELECT 'left ' || person_id || ' ' || list FROM notification_mutes
             UNION ALL SELECT 'event ' || id FROM audit_events ORDER BY 1",
        )
    }
}

fn figure(conn: &mut Conn, query: &str) -> QueryResult<i64> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = BigInt)]
        figure: i64,
    }
    sql_query(query).get_result::<Row>(conn).map(|row| row.figure)
}
