//! The claim: the compare-and-set that moves an action out of `pending` and, in the same transaction, executes it.

use super::{
    Gate,
    decide::{Locked, names},
    decider::Decider,
    note,
    pause::paused,
};
use crate::{
    audit::What,
    db::{Conn, QueryResult, savepoint},
    error::{Code, Denial, Result},
    failpoint,
    kinds::{Effect, Kind, Lock, Refusal, canonical::canonical},
    store::{
        actions::{self, Action, Ending, Status},
        agents::{self, Agent},
        people::Role,
        subjects::Versions,
    },
};

/// How many equal requests an approval can name. Beside more of them nobody could say which they mean, and no form holds
/// that many.
pub const MOST_EQUAL: usize = 200;

/// What an approver saw and says.
#[derive(Debug, Clone)]
pub struct Approval {
    /// The digest of the action as it was shown.
    pub digest: String,
    /// The versions of the records as they were shown; not compared when absent.
    pub subject_versions: Option<Versions>,
    /// A note for the agent.
    pub note: Option<String>,
    /// Ids of equal requests that the approver saw and means to approve beside this one.
    pub acknowledge: Vec<String>,
}

impl Gate {
    /// Approves an action: exactly one caller wins, and the write is done, or refused by a rule, when this returns.
    ///
    /// # Errors
    /// `not_found`, `already_decided`, `unauthenticated`, `forbidden`, `paused`, `digest_mismatch`, `related_actions`,
    /// `subject_changed`.
    pub async fn approve(&self, decider: &Decider, id: &str, approval: Approval) -> Result<Action> {
        let note = note::optional("note", approval.note.as_deref());
        self.decide(decider, id, What::Approval, note, move |conn, locked| claim(conn, locked, &approval))
            .await
    }
}

/// How the claim of a locked, pending action ends. In this order: person and session, agent, pauses; the digest; whether
/// agent and kind still stand behind it; the records, locked; equal requests; the records' versions; the rules; the write.
fn claim(conn: &mut Conn, locked: &Locked<'_>, approval: &Approval) -> QueryResult<Result<Ending, Denial>> {
    let (action, failed) = (locked.action, |refusal| Ok(Ok(failed(locked, refusal))));
    if let Err(denial) = locked.decider.hold(conn, &locked.gate.clock, Role::decides)? {
        return Ok(Err(denial));
    }
    let agent = agents::hold(conn, &action.agent_id)?;
    if let Some(denial) = paused(conn, &action.kind, &action.agent_id)? {
        return Ok(Err(denial));
    }
    if let Err(denial) = names(&approval.digest, action) {
        return Ok(Err(denial));
    }
    let kind = match standing(locked.gate, action, agent.as_ref()) {
        Ok(kind) => kind,
        Err(refusal) => return failed(refusal),
    };
    let Some(case) = kind.open(conn, &action.effective_params, Lock::Yes)? else {
        return failed(Refusal::new("record_missing", "The record is no longer there. Nothing was changed."));
    };
    // After the lock on the record: an equal write that was under way has ended by now, and is seen as what it became.
    let equal = equal(conn, locked, kind)?;
    if equal.len() > MOST_EQUAL {
        return Ok(Err(too_many_related()));
    }
    let unseen: Vec<_> = equal.into_iter().filter(|id| !approval.acknowledge.contains(id)).collect();
    if !unseen.is_empty() {
        return Ok(Err(related_actions(unseen)));
    }
    if approval.subject_versions.as_ref().is_some_and(|seen| *seen != case.versions()) {
        return Ok(Err(Denial::new(
            Code::SubjectChanged,
            "The record changed since it was shown. Look at today's figures and decide again.",
        )));
    }
    if let Err(refusal) = case.check() {
        return failed(refusal);
    }
    let changes = canonical(&case.preview().changes);
    let effect = Effect {
        action_id: &action.id,
        at: locked.now,
    };
    match savepoint(conn, |conn| case.apply(conn, &effect))? {
        Some(result) => {
            failpoint::reach("effect");
            Ok(Ok(Ending {
                changes: Some(changes),
                result: Some(canonical(&result)),
                ..locked.ending(Status::Executed)
            }))
        }
        None => failed(Refusal::new(
            "invariant",
            "The database refused the write, because it would break an invariant. Nothing was changed.",
        )),
    }
}

fn failed(locked: &Locked<'_>, refusal: Refusal) -> Ending {
    Ending {
        refusal_rule: Some(refusal.rule.to_owned()),
        refusal_message: Some(refusal.message),
        ..locked.ending(Status::Failed)
    }
}

/// The ids of equal requests that are open or were executed just before: as many as can be acknowledged, and one more.
fn equal(conn: &mut Conn, locked: &Locked<'_>, kind: &dyn Kind) -> QueryResult<Vec<String>> {
    let since = locked.now - locked.gate.policy.retry_windows.acknowledged_for(kind.spec());
    let equal = actions::equal_and_close(conn, locked.action, locked.now, since, MOST_EQUAL + 1)?;
    Ok(equal.into_iter().map(|other| other.id).collect())
}

fn too_many_related() -> Denial {
    let message = format!(
        "More than {MOST_EQUAL} other requests for the same write are open, or were executed just before: more than can be \
         acknowledged. Reject those that are not wanted first, or have them withdrawn; a pause keeps more from coming."
    );
    Denial::new(Code::RelatedActions, message)
}

fn related_actions(ids: Vec<String>) -> Denial {
    let message = "Another request for the same write is open, or was executed just before. To approve this one as well, \
                   acknowledge the other.";
    Denial {
        related: ids.into(),
        ..Denial::new(Code::RelatedActions, message)
    }
}

/// Whether the action's agent and kind still stand behind it.
fn standing<'a>(gate: &'a Gate, action: &Action, agent: Option<&Agent>) -> Result<&'a dyn Kind, Refusal> {
    let Some(agent) = agent.filter(|agent| agent.revoked_at.is_none()) else {
        return Err(Refusal::new(
            "agent_revoked",
            "The agent was revoked after it asked. Nothing was changed.",
        ));
    };
    let kind = gate
        .registry
        .find_kind(&action.kind)
        .filter(|kind| kind.spec().version == action.kind_version);
    let Some(kind) = kind else {
        let message = "What this kind of action does has changed since. Nothing was changed; ask again.";
        return Err(Refusal::new("kind_changed", message));
    };
    if !agent.has_scope(kind.spec().scope) {
        return Err(Refusal::new(
            "scope_missing",
            "The agent lost the scope after it asked. Nothing was changed.",
        ));
    }
    Ok(kind.as_ref())
}
