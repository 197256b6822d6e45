//! What `/metrics` tells (Prometheus text format).

use std::time::Duration;

use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGauge, Opts, Registry, TextEncoder};

use crate::{
    error::{Error, Result},
    notify::{Notifier, Outcome},
    store::actions,
    workflow::Gate,
};

/// The process's metrics; cheap to clone.
#[derive(Clone)]
pub struct Metrics {
    registry: Registry,
    tool_seconds: HistogramVec,
    decisions: IntCounterVec,
    http_requests: IntCounterVec,
    queue_depth: IntGauge,
    oldest_pending_seconds: IntGauge,
    database_up: IntGauge,
    writes_under_way: IntGauge,
    calls_waiting: IntGauge,
    deliveries: IntCounterVec,
    outbox_depth: IntGauge,
    outbox_dead: IntGauge,
    outbox_oldest_seconds: IntGauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let buckets = vec![0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 60.0];
        let seconds =
            HistogramOpts::new("countersign_tool_seconds", "Time to answer a tool call, in seconds.");
        let tool_seconds = HistogramVec::new(seconds.buckets(buckets), &["tool", "outcome"]);
        let decisions = Opts::new("countersign_decisions_total", "Decisions by people, by outcome.");
        let requests =
            Opts::new("countersign_http_requests_total", "HTTP requests, by method, route and status.");
        let depth = IntGauge::new("countersign_queue_depth", "Actions that wait for a decision.");
        let oldest = IntGauge::new(
            "countersign_oldest_pending_seconds",
            "Age of the oldest waiting action, in seconds.",
        );
        let up = IntGauge::new(
            "countersign_database_up",
            "1 if the queue could be read just now; else its figures are the last ones known.",
        );
        let writes = IntGauge::new(
            "countersign_writes_under_way",
            "Write transactions of this process that run or wait for the database.",
        );
        let waiting = IntGauge::new(
            "countersign_calls_waiting",
            "Calls of get_action_status to this process that wait for a decision.",
        );
        let deliveries =
            Opts::new("countersign_deliveries_total", "Deliveries of messages, by channel and outcome.");
        let outbox = IntGauge::new("countersign_outbox_depth", "Messages that are to be delivered.");
        let dead = IntGauge::new("countersign_outbox_dead", "Messages that were given up.");
        let overdue = IntGauge::new(
            "countersign_outbox_oldest_seconds",
            "For how long the oldest message that is due has been due, in seconds.",
        );
        let metrics = Self {
            registry: Registry::new(),
            tool_seconds: tool_seconds.expect("valid metric"),
            decisions: IntCounterVec::new(decisions, &["outcome"]).expect("valid metric"),
            http_requests: IntCounterVec::new(requests, &["method", "route", "status"])
                .expect("valid metric"),
            queue_depth: depth.expect("valid metric"),
            oldest_pending_seconds: oldest.expect("valid metric"),
            database_up: up.expect("valid metric"),
            writes_under_way: writes.expect("valid metric"),
            calls_waiting: waiting.expect("valid metric"),
            deliveries: IntCounterVec::new(deliveries, &["channel", "outcome"]).expect("valid metric"),
            outbox_depth: outbox.expect("valid metric"),
            outbox_dead: dead.expect("valid metric"),
            outbox_oldest_seconds: overdue.expect("valid metric"),
        };
        let all: [Box<dyn prometheus::core::Collector>; 12] = [
            Box::new(metrics.tool_seconds.clone()),
            Box::new(metrics.decisions.clone()),
            Box::new(metrics.http_requests.clone()),
            Box::new(metrics.queue_depth.clone()),
            Box::new(metrics.oldest_pending_seconds.clone()),
            Box::new(metrics.database_up.clone()),
            Box::new(metrics.writes_under_way.clone()),
            Box::new(metrics.calls_waiting.clone()),
            Box::new(metrics.deliveries.clone()),
            Box::new(metrics.outbox_depth.clone()),
            Box::new(metrics.outbox_dead.clone()),
            Box::new(metrics.outbox_oldest_seconds.clone()),
        ];
        for collector in all {
            metrics.registry.register(collector).expect("each metric has a name of its own");
        }
        metrics
    }
}

impl Metrics {
    /// A tool was called.
    pub fn tool(&self, tool: &str, outcome: &str, took: Duration) {
        self.tool_seconds.with_label_values(&[tool, outcome]).observe(took.as_secs_f64());
    }

    /// A person decided, or tried to: a status or a code.
    pub fn decision(&self, outcome: &str) {
        self.decisions.with_label_values(&[outcome]).inc();
    }

    /// A message was delivered, or not.
    pub fn delivery(&self, channel: &str, outcome: Outcome) {
        self.deliveries.with_label_values(&[channel, outcome.as_str()]).inc();
    }

    /// An HTTP request was answered. The route is the table's path, never what the client typed.
    pub fn http(&self, method: &str, route: &str, status: u16) {
        self.http_requests.with_label_values(&[method, route, &status.to_string()]).inc();
    }

    /// Everything in the text format, the queue as the database has it now, or had it when it could last be reached.
    pub async fn render(&self, gate: &Gate, notifier: &Notifier) -> Result<String> {
        let clock = gate.clock.clone();
        let queue = gate.db.read(move |conn| {
            let now = clock.now(conn)?;
            let (depth, oldest) = actions::queue_depth(conn, now)?;
            Ok((depth, oldest.map_or(0, |oldest| (now - oldest).num_seconds())))
        });
        let queue = queue.await;
        self.database_up.set(i64::from(queue.is_ok()));
        if let Ok((depth, age)) = queue {
            self.queue_depth.set(depth);
            self.oldest_pending_seconds.set(age);
        }
        if let Ok((health, now)) = notifier.health().await {
            self.outbox_depth.set(health.waiting);
            self.outbox_dead.set(health.dead);
            self.outbox_oldest_seconds
                .set(health.oldest_due.map_or(0, |due| (now - due).num_seconds()));
        }
        self.writes_under_way.set(i64::try_from(gate.db.writes_under_way()).unwrap_or(i64::MAX));
        self.calls_waiting.set(i64::try_from(gate.waiters.waiting()).unwrap_or(i64::MAX));
        TextEncoder::new().encode_to_string(&self.registry.gather()).map_err(Error::internal)
    }
}
