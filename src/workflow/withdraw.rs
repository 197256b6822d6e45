//! The agent takes its request back.

use super::{
    Gate,
    about::{about, told_of},
    decide::end,
    expire::lock_current,
    own::no_such_action,
    view::ActionView,
};
use crate::{
    audit::{self, Actor, Entry, Source, What},
    db::Conn,
    error::{Code, Result},
    store::{
        actions::{Ending, Status},
        new_id,
    },
};

impl Gate {
    /// Withdraws an agent's own action. Too late is no error: the answer is the state that won.
    ///
    /// # Errors
    /// `not_found` for an action of somebody else as for none.
    pub async fn withdraw(
        &self,
        agent_id: &str,
        source: &Source,
        tool: &'static str,
        id: &str,
    ) -> Result<ActionView> {
        let (gate, agent_id, source, id) = (self.clone(), agent_id.to_owned(), source.clone(), id.to_owned());
        let (event, expiry_event, woken) = (new_id(), new_id(), id.clone());
        let (committed, own_event, recaller) = (event.clone(), event.clone(), self.clone());
        let work = move |conn: &mut Conn| {
            let actor = Actor::Agent(agent_id.clone());
            let (action, now) = lock_current(&gate, conn, &id, &expiry_event)?;
            let Some(action) = action.filter(|action| action.agent_id == agent_id) else {
                let entry = Entry::denied(What::ToolCall, actor, &source, Code::NotFound).with("tool", tool);
                audit::record(conn, &event, now, &entry)?;
                return Ok(Err(no_such_action()));
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
