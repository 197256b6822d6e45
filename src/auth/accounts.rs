//! Accounts and keys: made, changed and ended, each change with its event.

mod agents;
mod names;
mod people;

use std::sync::Arc;

pub use agents::NewAgent;
pub use names::fold_email;
pub use people::NewPerson;

use super::Auth;
use crate::{
    audit::{self, Actor, Entry, Source, What},
    db::{Conn, QueryResult, Timestamp, is_duplicate},
    error::{Denial, Result},
    store::{events, new_id},
};

/// What a step of a change comes to; a denial commits nothing, for nothing was written.
pub(super) type Decided<T> = QueryResult<Result<T, Denial>>;

/// What a command that may come twice has done.
pub enum Changed<T> {
    Now(T),
    /// It was so before. Nothing was written, and nothing happened.
    Before(T),
}

impl Auth {
    /// One account change by the operator, and its event, in one transaction. Without an event nothing was changed.
    ///
    /// `lock` finds what is changed and locks it; only then the clock is read, and `work` decides on what came back.
    /// `recall` reads the changed row of a change that was committed while its answer got lost.
    pub(super) async fn change<L, T>(
        &self,
        lock: impl Fn(&mut Conn) -> Decided<L> + Send + Sync + 'static,
        work: impl Fn(&mut Conn, L, Timestamp) -> Decided<(T, Option<Entry>)> + Send + Sync + 'static,
        recall: impl Fn(&mut Conn) -> QueryResult<Option<T>> + Send + Sync + 'static,
    ) -> Result<T>
    where
        T: Send + 'static,
    {
        let (clock, event, recall) = (self.clock.clone(), new_id(), Arc::new(recall));
        let (event_id, again) = (event.clone(), Arc::clone(&recall));
        let change = Arc::new(move |conn: &mut Conn| {
            let locked = match lock(conn)? {
                Ok(locked) => locked,
                Err(denial) => return Ok(Err(denial)),
            };
            // A try before this one was still on its way to its commit, and this one waited for its lock.
            if events::find(conn, &event)?.is_some()
                && let Some(value) = again(conn)?
            {
                return Ok(Ok(value));
            }
            let now = clock.now(conn)?;
            match work(conn, locked, now)? {
                Ok((value, Some(entry))) => audit::record(conn, &event, now, &entry).map(|()| Ok(value)),
                Ok((value, None)) => Ok(Ok(value)),
                Err(denial) => Ok(Err(denial)),
            }
        });
        let recall = Arc::new(move |conn: &mut Conn| recall(conn).map(|value| value.map(Ok)));
        let once = || {
            let (change, recall) = (Arc::clone(&change), Arc::clone(&recall));
            self.db.write_once(&event_id, move |conn| change(conn), move |conn| recall(conn))
        };
        match once().await {
            // Somebody took the name in between; a second look finds it taken.
            Err(error) if is_duplicate(&error) => Ok(once().await??),
            changed => Ok(changed??),
        }
    }
}

pub(super) fn account(change: &str) -> Entry {
    Entry::new(What::Account, Actor::System, &Source::CLI, change)
}
