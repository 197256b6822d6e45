//! Expiry. Whoever meets a pending action past its due time ends it; the sweeper only hurries.

use super::Gate;
use crate::{
    audit::{self, Actor, Entry, Source, What},
    db::{Conn, QueryResult, Timestamp},
    error::Result,
    store::{
        actions::{self, Action, Ending, Status},
        new_id,
    },
};

/// How many actions or counters one transaction of the sweeper takes on.
const BATCH: i64 = 100;

/// Ends a locked, pending action that is past due, with its one event. Answers the action as it is then.
pub(super) fn expire(conn: &mut Conn, action: Action, now: Timestamp, event_id: &str) -> QueryResult<Action> {
    let ending = Ending::undecided(Status::Expired, now);
    if actions::end(conn, &action.id, &ending)? == 1 {
        let entry = Entry::new(What::Expiry, Actor::System, &Source::INTERNAL, Status::Expired.as_str())
            .action(&action.id)
            .with("kind", action.kind.as_str())
            .with("digest", action.digest.as_str());
        audit::record(conn, event_id, now, &entry)?;
    }
    Ok(Action {
        status: Status::Expired,
        decided_at: Some(now),
        ..action
    })
}

/// Locks an action and, if it is past due, expires it. The time returned was read after the lock.
pub(super) fn lock_current(
    gate: &Gate,
    conn: &mut Conn,
    id: &str,
    expiry_event: &str,
) -> QueryResult<(Option<Action>, Timestamp)> {
    let action = actions::lock(conn, id)?;
    let now = gate.clock.now(conn)?;
    match action {
        Some(action) if action.status == Status::Pending && action.is_past_due(now) => {
            Ok((Some(expire(conn, action, now, expiry_event)?), now))
        }
        other => Ok((other, now)),
    }
}

impl Gate {
    /// Ends what is past due and closes the denial counters of past minutes. Returns how many actions it ended.
    pub async fn sweep(&self) -> Result<usize> {
        let (clock, now) = (self.clock.clone(), self.clock.clone());
        let due = self
            .db
            .read(move |conn| clock.now(conn).and_then(|now| actions::past_due(conn, now, BATCH)))
            .await?;
        let mut ended = 0;
        for id in due {
            let (gate, event_id) = (self.clone(), new_id());
            let action = self.db.write(move |conn| lock_current(&gate, conn, &id, &event_id)).await?;
            ended += usize::from(action.0.is_some_and(|action| action.status == Status::Expired));
        }
        self.db
            .write(move |conn| now.now(conn).and_then(|now| audit::close_floods(conn, now, BATCH)))
            .await?;
        Ok(ended)
    }
}
