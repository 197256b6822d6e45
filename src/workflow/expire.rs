//! Expiry. Whoever meets a pending action past its due time ends it; the sweeper only hurries.

use super::{Gate, about::about};
use crate::{
    audit::{
        self, Actor, Entry, Source, What,
        floods::{close_floods, has_closed_floods},
    },
    db::{Conn, QueryResult, Timestamp},
    error::Result,
    failpoint,
    store::{
        actions::{self, Action, Ending, Status},
        new_id,
        notices::{self, Notice, Topic},
    },
};

/// How many actions or counters one transaction of the sweeper takes on.
const BATCH: i64 = 100;

/// Ends a locked, pending action that is past due, with its one event. Answers the action as it is then.
pub(super) fn expire(conn: &mut Conn, action: Action, now: Timestamp, event_id: &str) -> QueryResult<Action> {
    let ending = Ending::undecided(Status::Expired, now);
    if actions::end(conn, &action.id, &ending)? == 1 {
        let entry = Entry::new(What::Expiry, Actor::System, &Source::INTERNAL, Status::Expired.as_str());
        audit::record(conn, event_id, now, &about(entry, &action))?;
        notices::insert(conn, &Notice::of_action(event_id, Topic::Expired, &action.id, now))?;
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
    failpoint::reach("locked");
    let now = gate.clock.now(conn)?;
    match action {
        Some(action) if action.status == Status::Pending && action.is_past_due(now) => {
            Ok((Some(expire(conn, action, now, expiry_event)?), now))
        }
        other => Ok((other, now)),
    }
}

impl Gate {
    /// Ends what is past due and closes the denial counters of past minutes. Returns how many actions it ended: those that
    /// somebody else was faster with don't count. Writes nothing when there is nothing to do. One that
    /// can't be ended keeps no other from its end; its error is answered, or else one of closing the counters.
    pub async fn sweep(&self) -> Result<usize> {
        let clock = self.clock.clone();
        let to_do = self.db.read(move |conn| {
            let now = clock.now(conn)?;
            Ok((actions::past_due(conn, now, BATCH)?, has_closed_floods(conn, now)?))
        });
        let (due, floods) = to_do.await?;
        let (mut ended, mut failed) = (0, None);
        for id in due {
            let (gate, event_id, woken) = (self.clone(), new_id(), id.clone());
            let (action, now) =
                match self.db.write(move |conn| lock_current(&gate, conn, &id, &event_id)).await {
                    Ok(expired) => expired,
                    Err(error) => {
                        tracing::warn!(%error, action = woken, "it can't be expired now");
                        failed = Some(error);
                        continue;
                    }
                };
            self.waiters.wake(&woken);
            let own = |action: &Action| action.status == Status::Expired && action.decided_at == Some(now);
            ended += usize::from(action.as_ref().is_some_and(own));
        }
        if floods {
            let clock = self.clock.clone();
            let events: Vec<_> = (0..BATCH).map(|_| new_id()).collect();
            let close = move |conn: &mut Conn| {
                let now = clock.now(conn)?;
                close_floods(conn, &events, now)
            };
            if let Err(error) = self.db.write(close).await {
                tracing::warn!(%error, "denials can't be counted now");
                failed = failed.or(Some(error));
            }
        }
        failed.map_or(Ok(ended), Err)
    }
}
