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
    store::new_id,
};

/// What a command that may come twice has done.
pub enum Changed<T> {
    Now(T),
    /// It was so before. Nothing was written, and nothing happened.
    Before(T),
}

impl Auth {
    /// One account change by the operator, and its event, in one transaction. Without an event nothing was changed.
    async fn change<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&mut Conn, Timestamp) -> QueryResult<Result<(T, Option<Entry>), Denial>>
            + Send
            + Sync
            + 'static,
    {
        let (clock, event) = (self.clock.clone(), new_id());
        let change = Arc::new(move |conn: &mut Conn| {
            let now = clock.now(conn)?;
            match work(conn, now)? {
                Ok((value, Some(entry))) => audit::record(conn, &event, now, &entry).map(|()| Ok(value)),
                Ok((value, None)) => Ok(Ok(value)),
                Err(denial) => Ok(Err(denial)),
            }
        });
        let first = Arc::clone(&change);
        match self.db.write(move |conn| first(conn)).await {
            // Somebody took the name in between; a second look finds it taken.
            Err(error) if is_duplicate(&error) => Ok(self.db.write(move |conn| change(conn)).await??),
            changed => Ok(changed??),
        }
    }
}

fn account(change: &str) -> Entry {
    Entry::new(What::Account, Actor::System, &Source::CLI, change)
}
