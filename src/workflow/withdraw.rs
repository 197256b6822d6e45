//! The agent takes its request back.

use super::{
    Gate,
    about::{about, told_of},
    decide::end,
    expire::lock_current,
    own::no_such_action,
    request::no_valid_key,
    view::ActionView,
};
use crate::{
    audit::{self, Actor, Entry, Source, What},
    db::Conn,
    error::Result,
    store::{
        actions::{self, Ending, Status},
        credentials, new_id,
    },
};

impl Gate {
    /// Withdraws an agent's own action. Too late is no error: the answer is the state that won.
    ///
    /// # Errors
    /// `not_found` for an action of somebody else as for none; `unauthenticated` for a key that was revoked meanwhile.
    pub async fn withdraw(
        &self,
        agent_id: &str,
        key_prefix: &str,
        source: &Source,
        tool: &'static str,
        id: &str,
    ) -> Result<ActionView> {
        let (gate, agent_id, source, id) = (self.clone(), agent_id.to_owned(), source.clone(), id.to_owned());
        let key = key_prefix.to_owned();
        let (event, expiry_event, woken) = (new_id(), new_id(), id.clone());
        let (committed, own_event, recaller) = (event.clone(), event.clone(), self.clone());
        let work = move |conn: &mut Conn| {
            let actor = Actor::Agent(agent_id.clone());
            // Whose it is never changes; nobody else's is touched.
            let own = actions::find(conn, &id)?.is_some_and(|action| action.agent_id == agent_id);
            let (action, now) = if own {
                lock_current(&gate, conn, &id, &expiry_event)?
            } else {
                (None, gate.clock.now(conn)?)
            };
            // The key was good before the transaction; here it holds until the commit.
            let key = credentials::hold(conn, &key)?.filter(|key| key.revoked_at.is_none());
            let found = key.ok_or_else(no_valid_key).and_then(|_| action.ok_or_else(no_such_action));
            let action = match found {
                Ok(action) => action,
                Err(denial) => {
                    let entry = Entry::denied(What::ToolCall, actor, &source, denial.code).with("tool", tool);
                    audit::record(conn, &event, now, &entry)?;
                    return Ok(Err(denial));
                }
            };
            let action = if action.status == Status::Pending {
                let ending = Ending::undecided(Status::Withdrawn, now);
                end(conn, action, ending)?
            } else {
                action
            };
            let entry = Entry::new(What::ToolCall, actor, &source, action.status.as_str()).with("tool", tool);
            audit::record(conn, &event, now, &about(entry, &action))?;
            gate.view(conn, &action, now, None).map(Ok)
        };
        // Of a denial it is enough to be told to try again.
        let recall = move |conn: &mut Conn| {
            let Some((action, _)) = told_of(conn, &own_event)? else { return Ok(None) };
            let now = recaller.clock.now(conn)?;
            recaller.view(conn, &action, now, None).map(|view| Some(Ok(view)))
        };
        let withdrawn = self.db.write_once(&committed, work, recall).await?;
        self.waiters.wake(&woken);
        Ok(withdrawn?)
    }
}
