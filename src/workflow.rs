//! The state machine: request, join, claim, reject, withdraw, expire.
//!
//! Every transition is one transaction that locks in the order slot → action → person, session, agent → pauses → write
//! budget → records, reads the database's clock after the lock, and commits the change together with its event.

mod about;
mod backup;
mod beside;
mod claim;
mod decide;
mod decider;
mod detail;
mod expire;
mod list;
pub mod note;
mod own;
mod pause;
mod prune;
mod queue;
mod reject;
mod request;
mod slot;
pub mod view;
mod waiters;
mod withdraw;
pub mod wording;
mod write_limit;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use chrono::TimeDelta;

pub use backup::restored;
pub use claim::{Approval, MOST_EQUAL};
pub use decider::{Decider, Means};
pub use detail::{Detail, Happening, Story};
pub use list::{Listed, Named, Page, Rows, Wanted};
pub use pause::PauseTarget;
pub use queue::Queue;
pub use reject::Rejection;
pub use request::{Request, scope_missing, split};
pub use view::{ActionView, Disposition};
pub use waiters::{Waiter, Waiters};
pub use write_limit::WriteLimit;

use crate::{
    db::{Clock, Db},
    kinds::{KindSpec, Registry},
};

/// The gate: what every door calls.
#[derive(Clone)]
pub struct Gate {
    pub db: Db,
    pub clock: Clock,
    pub registry: Registry,
    pub policy: Policy,
    /// Wakes calls that wait for a decision.
    pub waiters: Waiters,
    pub observe: Observer,
}

/// Told about each decision of a person: the action's status, or the code of the denial.
pub type Observer = Arc<dyn Fn(&str) + Send + Sync>;

/// The settings that decide how long things last.
#[derive(Debug, Clone)]
pub struct Policy {
    /// How long a request waits for a decision.
    pub action_ttl: TimeDelta,
    /// How long a repeated request replays the outcome.
    pub retry_windows: RetryWindows,
    /// How many new actions an agent may open; `None` for any number.
    pub write_limit: Option<WriteLimit>,
    /// Where people reach the dashboard, without a slash at the end.
    pub public_url: String,
}

/// Retry windows that the configuration sets in place of the kinds' own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetryWindows {
    /// For every kind that is not named.
    pub every: Option<Duration>,
    /// By the kind's name.
    pub by_kind: BTreeMap<String, Duration>,
}

impl RetryWindows {
    /// The window in force for a kind, measured from the decision. Zero means: only with an explicit key.
    pub fn of(&self, spec: &KindSpec) -> Duration {
        self.by_kind.get(spec.name).copied().or(self.every).unwrap_or(spec.retry_window)
    }

    /// The same as a difference of times.
    pub fn delta_of(&self, spec: &KindSpec) -> TimeDelta {
        // Settings take at most ten years, far from the largest difference.
        TimeDelta::from_std(self.of(spec)).unwrap_or(TimeDelta::MAX)
    }

    /// How long an executed write has to be acknowledged by whoever approves an equal one. Replays may be off, or short; two
    /// writes by accident are as bad then.
    pub fn acknowledged_for(&self, spec: &KindSpec) -> TimeDelta {
        self.delta_of(spec).max(TimeDelta::from_std(spec.retry_window).unwrap_or(TimeDelta::MAX))
    }
}

impl Policy {
    /// The page on which a person decides an action.
    pub fn review_url(&self, action_id: &str) -> String {
        format!("{}/actions/{action_id}", self.public_url)
    }
}
