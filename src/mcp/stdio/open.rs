//! The requests that are still to be answered.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rmcp::model::RequestId;
use tokio::sync::Notify;

/// The ids of the open requests. An id that is used twice at once counts once, as it does for the library.
#[derive(Default)]
pub struct Open {
    ids: Mutex<HashSet<RequestId>>,
    closed: Notify,
}

impl Open {
    /// A request was read.
    pub fn open(&self, id: RequestId) {
        self.ids().insert(id);
    }

    /// A request was answered, or nobody waits for its answer any more.
    pub fn close(&self, id: &RequestId) {
        self.ids().remove(id);
        self.closed.notify_one();
    }

    /// Waits until no request is open. May be dropped and called again.
    pub async fn all_closed(&self) {
        while !self.ids().is_empty() {
            self.closed.notified().await;
        }
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
