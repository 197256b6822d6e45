//! The owner's switch: everything, one kind, or one agent.

use super::{Gate, decider::Decider};
use crate::{
    audit::{self, Actor, Entry, Source, What},
    db::{Conn, Latch, QueryResult},
    error::{Code, Denial, Result},
    store::{
        agents, new_id,
        pauses::{self, Pause},
        people::Role,
    },
};

/// What a pause stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PauseTarget {
    Everything,
    Kind(String),
    /// By the agent's id.
    Agent(String),
}

impl PauseTarget {
    /// The target as it is stored.
    pub fn key(&self) -> String {
        match self {
            Self::Everything => "all".to_owned(),
            Self::Kind(name) => format!("kind:{name}"),
            Self::Agent(id) => format!("agent:{id}"),
        }
    }

    /// The target of a stored key.
    pub fn from_key(key: &str) -> Option<Self> {
        match key.split_once(':') {
            None if key == "all" => Some(Self::Everything),
            Some(("kind", name)) => Some(Self::Kind(name.to_owned())),
            Some(("agent", id)) => Some(Self::Agent(id.to_owned())),
            _ => None,
        }
    }
}

/// The denial that a pause in force gives, if one concerns this kind and agent. If none does, none is made before the
/// transaction ends: an owner who is told of a pause knows that nobody acts on having looked earlier.
pub fn paused(conn: &mut Conn, kind: &str, agent_id: &str) -> QueryResult<Option<Denial>> {
    Latch::Pauses.share(conn)?;
    let targets = [
        PauseTarget::Everything.key(),
        PauseTarget::Kind(kind.to_owned()).key(),
        PauseTarget::Agent(agent_id.to_owned()).key(),
    ];
    let in_force = !pauses::among(conn, &targets)?.is_empty();
    let sentence =
        "An owner has paused this. Nothing was stored or changed; ask a person when it will be resumed.";
    Ok(in_force.then(|| Denial::new(Code::Paused, sentence)))
}

impl Gate {
    /// Pauses or resumes in the name of an owner in the browser. Answers whether anything changed.
    pub async fn set_pause(&self, owner: &Decider, target: PauseTarget, on: bool) -> Result<bool> {
        let (gate, owner, event_id) = (self.clone(), owner.clone(), new_id());
        let changed = self.db.write(move |conn| {
            let now = gate.clock.now(conn)?;
            let what = if on { What::Pause } else { What::Resume };
            let actor = Actor::Person(owner.person_id.clone());
            if let Err(denial) = owner.hold(conn, now, |role| role == Role::Owner)? {
                let entry =
                    Entry::denied(what, actor, &owner.source, denial.code).with("target", target.key());
                audit::record(conn, &event_id, now, &entry)?;
                return Ok(Err(denial));
            }
            gate.switch(conn, &event_id, &target, on, actor, &owner.source)
        });
        Ok(changed.await??)
    }

    /// Pauses or resumes at the command line.
    pub async fn set_pause_as_operator(&self, target: PauseTarget, on: bool) -> Result<bool> {
        let (gate, event_id) = (self.clone(), new_id());
        let changed = self
            .db
            .write(move |conn| gate.switch(conn, &event_id, &target, on, Actor::System, &Source::CLI));
        Ok(changed.await??)
    }

    fn switch(
        &self,
        conn: &mut Conn,
        event_id: &str,
        target: &PauseTarget,
        on: bool,
        actor: Actor,
        source: &Source,
    ) -> QueryResult<Result<bool, Denial>> {
        let known = match target {
            PauseTarget::Everything => true,
            PauseTarget::Kind(name) => self.registry.find_kind(name).is_some(),
            PauseTarget::Agent(id) => agents::find(conn, id)?.is_some(),
        };
        if !known {
            let now = self.clock.now(conn)?;
            let what = if on { What::Pause } else { What::Resume };
            audit::record(conn, event_id, now, &Entry::denied(what, actor, source, Code::NotFound))?;
            return Ok(Err(Denial::new(Code::NotFound, "There is no such kind or agent to pause.")));
        }
        Latch::Pauses.take(conn)?;
        let now = self.clock.now(conn)?;
        let key = target.key();
        let changed = if on {
            let paused_by = match &actor {
                Actor::Person(id) => Some(id.clone()),
                _ => None,
            };
            pauses::insert(
                conn,
                &Pause {
                    target: key.clone(),
                    paused_by,
                    paused_at: now,
                },
            )? == 1
        } else {
            pauses::delete(conn, &key)? == 1
        };
        let what = if on { What::Pause } else { What::Resume };
        let outcome = if changed { "done" } else { "unchanged" };
        audit::record(conn, event_id, now, &Entry::new(what, actor, source, outcome).with("target", key))?;
        Ok(Ok(changed))
    }
}
