//! The requests that are still to be answered.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rmcp::model::RequestId;
use tokio::sync::Notify;

/// The ids of the open requests, and how many answers are on their way out.
#[derive(Default)]
pub struct Open {
    state: Mutex<State>,
    closed: Notify,
}

#[derive(Default)]
struct State {
    ids: HashSet<RequestId>,
    leaving: usize,
}

impl Open {
    /// A request was read. Answers false where another request of the same id is open.
    pub fn open(&self, id: RequestId) -> bool {
        self.state().ids.insert(id)
    }

    /// Nobody waits for the request's answer any more.
    pub fn close(&self, id: &RequestId) {
        self.state().ids.remove(id);
        self.closed.notify_one();
    }

    /// A request's answer is about to be written: its id is free before its client can read it.
    pub fn leave(&self, id: &RequestId) {
        let mut state = self.state();
        state.ids.remove(id);
        state.leaving += 1;
    }

    /// An answer was written.
    pub fn left(&self) {
        self.state().leaving -= 1;
        self.closed.notify_one();
    }

    /// Waits until every request is answered. May be dropped and called again.
    pub async fn all_closed(&self) {
        while !self.is_closed() {
            self.closed.notified().await;
        }
    }

    fn is_closed(&self) -> bool {
        let state = self.state();
        state.ids.is_empty() && state.leaving == 0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
