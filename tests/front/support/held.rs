//! Kinds that can be stopped between their reads and their writes, to let somebody else in.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use countersign::db::{Conn, QueryResult};
use countersign::error::Denial;
use countersign::kinds::{ActionKind, Effect, Lock, Preview, Refusal, Registry, Wording};
use countersign::shop::order_cancellation::OrderCancellation;
use countersign::shop::refund::Refund;
use countersign::shop::stock_adjustment::StockAdjustment;
use countersign::store::subjects::Versions;
use serde_json::Value;

use super::run::Fixture;
use super::{Backend, TestApp};

/// A gate in the way of a transaction. It stands open until it is shut.
#[derive(Clone)]
pub struct Gate {
    state: Arc<(Mutex<State>, Condvar)>,
    /// Whether it is in the way of those that lock the rows they read, or of the others.
    at: Lock,
    /// For how long a transaction stands there.
    stop: Duration,
}

#[derive(Default)]
struct State {
    is_shut: bool,
    stopped: usize,
}

/// In the way of whoever writes.
impl Default for Gate {
    fn default() -> Self {
        Self {
            state: Arc::default(),
            at: Lock::Yes,
            stop: STOP,
        }
    }
}

impl Gate {
    /// In the way of whoever only reads.
    pub fn in_reads() -> Self {
        Self {
            at: Lock::No,
            stop: PATIENCE * 6,
            ..Self::default()
        }
    }

    /// Stops the next transaction that comes.
    pub fn shut(&self) {
        self.state.0.lock().unwrap().is_shut = true;
    }

    /// Lets it go on.
    pub fn open(&self) {
        self.state.0.lock().unwrap().is_shut = false;
        self.state.1.notify_all();
    }

    /// Waits until a transaction stands at the gate.
    pub async fn until_reached(&self) {
        let gate = self.clone();
        let reached = tokio::task::spawn_blocking(move || {
            let state = gate.state.0.lock().unwrap();
            let waited = gate.state.1.wait_timeout_while(state, PATIENCE, |state| state.stopped == 0);
            !waited.unwrap().1.timed_out()
        });
        assert!(reached.await.unwrap(), "no transaction came to the gate");
    }

    /// What a transaction does here. Only the first is stopped: the others are stopped by its locks.
    fn pass(&self, lock: Lock) {
        if lock != self.at {
            return;
        }
        let mut state = self.state.0.lock().unwrap();
        if !state.is_shut || state.stopped > 0 {
            return;
        }
        state.stopped += 1;
        self.state.1.notify_all();
        let (mut state, _) =
            self.state.1.wait_timeout_while(state, self.stop, |state| state.is_shut).unwrap();
        state.stopped -= 1;
    }
}

const PATIENCE: Duration = Duration::from_secs(10);
/// Shorter than anybody waits for a lock.
const STOP: Duration = Duration::from_secs(4);

/// An application whose kinds pass a gate once their rows are locked and read.
pub struct GatedApp {
    pub app: TestApp,
    pub gate: Gate,
}

impl Fixture for GatedApp {
    async fn set_up(backend: Backend) -> Self {
        let gate = Gate::default();
        let app = TestApp::with_registry(backend, registry(&gate)).await;
        Self { app, gate }
    }

    async fn tear_down(self) {
        self.app.tear_down().await;
    }
}

/// The kinds, each of which passes the gate.
pub fn registry(gate: &Gate) -> Registry {
    let stock = StockAdjustment { max_delta: 1_000 };
    Registry::default()
        .kind(Held(Refund, gate.clone()))
        .kind(Held(OrderCancellation, gate.clone()))
        .kind(Held(stock, gate.clone()))
}

/// A kind, and the gate that it passes.
#[derive(Clone)]
struct Held<K>(K, Gate);

impl<K: ActionKind> ActionKind for Held<K> {
    const NAME: &'static str = K::NAME;
    const VERSION: i32 = K::VERSION;
    const SCOPE: &'static str = K::SCOPE;
    const TITLE: &'static str = K::TITLE;
    const DESCRIPTION: &'static str = K::DESCRIPTION;
    const RETRY_WINDOW: Duration = K::RETRY_WINDOW;
    const DESTRUCTIVE: bool = K::DESTRUCTIVE;

    type Arguments = K::Arguments;
    type Params = K::Params;
    type Record = K::Record;

    fn resolve(
        &self,
        conn: &mut Conn,
        arguments: Self::Arguments,
    ) -> QueryResult<Result<Self::Params, Denial>> {
        self.0.resolve(conn, arguments)
    }

    fn load(&self, conn: &mut Conn, params: &Self::Params, lock: Lock) -> QueryResult<Option<Self::Record>> {
        let record = self.0.load(conn, params, lock)?;
        self.1.pass(lock);
        Ok(record)
    }

    fn versions(&self, record: &Self::Record) -> Versions {
        self.0.versions(record)
    }

    fn check(&self, params: &Self::Params, record: &Self::Record) -> Result<(), Refusal> {
        self.0.check(params, record)
    }

    fn wording(&self, params: &Self::Params, record: &Self::Record) -> Wording {
        self.0.wording(params, record)
    }

    fn preview(&self, params: &Self::Params, record: &Self::Record) -> Preview {
        self.0.preview(params, record)
    }

    fn apply(
        &self,
        conn: &mut Conn,
        effect: &Effect<'_>,
        params: &Self::Params,
        record: &Self::Record,
    ) -> QueryResult<Value> {
        self.0.apply(conn, effect, params, record)
    }
}
