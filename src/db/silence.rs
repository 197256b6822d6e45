//! What tells a server that is at work from one that says nothing any more, though its connections stand: a stopped process, a
//! pooler that hangs. libpq would wait for its next word for ever.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use diesel::connection::{Instrumentation, InstrumentationEvent, get_default_instrumentation};

/// How long a server may say nothing: longer than a statement of ours may take.
const SILENCE: Duration = Duration::from_secs(25);

/// When the server was heard last, and whether it was given up.
#[derive(Clone)]
pub(super) struct Heard {
    start: Instant,
    /// In milliseconds after the start.
    last: Arc<AtomicU64>,
    given_up: Arc<AtomicBool>,
}

impl Heard {
    pub(super) fn now() -> Self {
        Self {
            start: Instant::now(),
            last: Arc::default(),
            given_up: Arc::default(),
        }
    }

    fn again(&self) {
        let passed = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(passed, Ordering::Relaxed);
    }

    /// Nobody waits for it any more.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::SeqCst);
    }

    /// Whether somebody was told that the outcome is unknown. What is on its way to its COMMIT by then has to turn back: it may
    /// have been done again meanwhile, or undone.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::SeqCst)
    }

    /// When it counts as fallen silent, unless it is heard before.
    pub(super) fn deadline(&self) -> Instant {
        self.start + Duration::from_millis(self.last.load(Ordering::Relaxed)) + SILENCE
    }
}

/// What listens on a connection: the server is heard with every answer, be it an error. Whoever else listens goes on.
pub(super) struct Listener {
    heard: Heard,
    others: Option<Box<dyn Instrumentation>>,
}

impl Listener {
    pub(super) fn of(heard: Heard) -> Self {
        Self {
            heard,
            others: get_default_instrumentation(),
        }
    }
}

impl Instrumentation for Listener {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        if let InstrumentationEvent::FinishQuery { .. } = event {
            self.heard.again();
        }
        self.others.on_connection_event(event);
    }
}
