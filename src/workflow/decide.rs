//! The transaction around a person's decision: lock, read the clock, let the step judge, end the action, write the event.

use super::{
    Gate,
    about::{about, told_of},
    decider::Decider,
    expire::lock_current,
};
use crate::{
    audit::{self, Entry, What},
    db::{Conn, QueryResult, Timestamp, must_be_one},
    error::{Code, Denial, Result, Winner},
    kinds::canonical::Digested,
    store::{
        actions::{self, Action, Ending, Status},
        agents, new_id,
        notices::{self, Notice, Topic},
        people,
    },
};

/// What a decision is made on: a locked, pending action, and the time read after the lock.
pub(super) struct Locked<'a> {
    pub(super) gate: &'a Gate,
    pub(super) action: &'a Action,
    pub(super) now: Timestamp,
    pub(super) decider: &'a Decider,
    note: Option<&'a str>,
}

impl Locked<'_> {
    /// An ending in the decider's name, with their note.
    pub(super) fn ending(&self, status: Status) -> Ending {
        Ending {
            decided_by: Some(self.decider.person_id.clone()),
            decision_note: self.note.map(ToOwned::to_owned),
            ..Ending::undecided(status, self.now)
        }
    }
}

impl Gate {
    /// Ends a pending action as `step` says. A denial leaves the action as it was; its event commits all the same. A note
    /// that can't be taken is an answer before that. However it comes out, the observer is told.
    pub(super) async fn decide(
        &self,
        decider: &Decider,
        id: &str,
        what: What,
        note: Result<Option<String>>,
        step: impl Fn(&mut Conn, &Locked<'_>) -> QueryResult<Result<Ending, Denial>> + Send + Sync + 'static,
    ) -> Result<Action> {
        let decided = match note {
            Ok(note) => self.settle(decider, id, what, note, step).await,
            Err(error) => Err(error),
        };
        let outcome = decided
            .as_ref()
            .map_or_else(|error| error.code().as_str(), |action| action.status.as_str());
        (self.observe)(outcome);
        decided
    }

    async fn settle(
        &self,
        decider: &Decider,
        id: &str,
        what: What,
        note: Option<String>,
        step: impl Fn(&mut Conn, &Locked<'_>) -> QueryResult<Result<Ending, Denial>> + Send + Sync + 'static,
    ) -> Result<Action> {
        let (gate, decider, id) = (self.clone(), decider.clone(), id.to_owned());
        let (event, expiry_event, woken) = (new_id(), new_id(), id.clone());
        let committed = event.clone();
        let work = move |conn: &mut Conn| {
            let (action, now) = lock_current(&gate, conn, &id, &expiry_event)?;
            let denied = |denial: &Denial| Entry::denied(what, decider.actor(), &decider.source, denial.code);
            let Some(action) = action else {
                let denial = Denial::new(Code::NotFound, "There is no such action.");
                return audit::record(conn, &event, now, &denied(&denial)).map(|()| Err(denial));
            };
            let judged = if action.status == Status::Pending {
                let locked = Locked {
                    gate: &gate,
                    action: &action,
                    now,
                    decider: &decider,
                    note: note.as_deref(),
                };
                step(conn, &locked)?
            } else {
                Err(already_decided(conn, &action)?)
            };
            let (entry, outcome) = match judged {
                Err(denial) => (about(denied(&denial), &action), Err(denial)),
                Ok(ending) => {
                    let entry = Entry::new(what, decider.actor(), &decider.source, ending.status.as_str());
                    let rule = ending.refusal_rule.clone();
                    let entry = rule
                        .iter()
                        .fold(about(entry, &action), |entry, rule| entry.with("rule", rule.as_str()));
                    notices::insert(conn, &Notice::of_action(&event, Topic::Decided, &action.id, now))?;
                    (entry, Ok(end(conn, action, ending)?))
                }
            };
            audit::record(conn, &event, now, &entry).map(|()| outcome)
        };
        // Only an ended action is worth recalling; of a denial it is enough to be told to try again.
        let own_event = committed.clone();
        let recall = move |conn: &mut Conn| Ok(told_of(conn, &own_event)?.map(|(action, _)| Ok(action)));
        let decided = self.db.write_once(&committed, work, recall).await?;
        self.waiters.wake(&woken);
        Ok(decided?)
    }
}

/// Refuses a decision that names something else than what is stored. The digest is taken anew from what would run, not from
/// the column beside it.
pub(super) fn names(digest: &str, action: &Action) -> Result<(), Denial> {
    let stored = Digested {
        action_id: &action.id,
        agent_id: &action.agent_id,
        kind: &action.kind,
        kind_version: action.kind_version,
        params: &action.effective_params,
        reason: &action.reason,
    };
    if digest == stored.digest() {
        return Ok(());
    }
    Err(Denial::new(
        Code::DigestMismatch,
        "The decision names another content than the action has. Look at the action again and decide anew.",
    ))
}

/// The guarded update that takes a locked action out of `pending`.
pub(super) fn end(conn: &mut Conn, action: Action, ending: Ending) -> QueryResult<Action> {
    actions::end(conn, &action.id, &ending).and_then(must_be_one)?;
    Ok(Action {
        status: ending.status,
        decided_at: Some(ending.decided_at),
        decided_by: ending.decided_by,
        decision_note: ending.decision_note,
        changes: ending.changes,
        result: ending.result,
        refusal_rule: ending.refusal_rule,
        refusal_message: ending.refusal_message,
        ..action
    })
}

/// The denial that names the state that won, and who won it.
pub(super) fn already_decided(conn: &mut Conn, action: &Action) -> QueryResult<Denial> {
    let by = match (&action.decided_by, action.status) {
        (Some(id), _) => people::find(conn, id)?.map(|person| person.email),
        (None, Status::Withdrawn) => agents::find(conn, &action.agent_id)?.map(|agent| agent.name),
        _ => None,
    };
    let message = match (action.status, &by) {
        (Status::Expired, _) => "The action expired before anybody decided. Nothing was changed.".to_owned(),
        (status, Some(by)) => format!("The action is already {status}: {by} was first."),
        (status, None) => format!("The action is already {status}."),
    };
    let winner = Winner {
        status: action.status.as_str(),
        by,
        at: action.decided_at,
    };
    Ok(Denial {
        winner: Some(Box::new(winner)),
        ..Denial::new(Code::AlreadyDecided, message)
    })
}
