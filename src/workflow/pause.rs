//! The owner's switch: everything, one kind, or one agent.

use super::{Gate, decider::Decider};
use crate::{
    audit::{self, Actor, Entry, Source, What},
    db::{Conn, Latch, QueryResult, Timestamp},
    error::{Code, Denial, Result},
    store::{
        agents, events, new_id,
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

    /// The keys of all that concern actions of that kind and agent.
    pub fn concerning(kind: &str, agent_id: &str) -> [String; 3] {
        let targets = [Self::Everything, Self::Kind(kind.to_owned()), Self::Agent(agent_id.to_owned())];
        targets.map(|target| target.key())
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
    let in_force = pauses::among(conn, &PauseTarget::concerning(kind, agent_id))?;
    let sentence = if in_force.iter().any(|pause| pause.restored_from.is_some()) {
        "The data was restored from a backup, and everything is paused until an owner resumes it. Nothing was stored or \
         changed; ask a person when that will be."
    } else {
        "An owner has paused this. Nothing was stored or changed; ask a person when it will be resumed."
    };
    Ok((!in_force.is_empty()).then(|| Denial::new(Code::Paused, sentence)))
}

impl Gate {
    /// Pauses or resumes in the name of an owner in the browser; no target stands for one that nothing is called. Answers
    /// whether anything changed.
    pub async fn set_pause(
        &self,
        owner: &Decider,
        target: impl Into<Option<PauseTarget>>,
        on: bool,
    ) -> Result<bool> {
        let owner = Some(owner.clone());
        self.turn(Switch {
            owner,
            target: target.into(),
            on,
        })
        .await
    }

    /// The same at the command line.
    pub async fn set_pause_as_operator(
        &self,
        target: impl Into<Option<PauseTarget>>,
        on: bool,
    ) -> Result<bool> {
        self.turn(Switch {
            owner: None,
            target: target.into(),
            on,
        })
        .await
    }

    async fn turn(&self, switch: Switch) -> Result<bool> {
        let (gate, event) = (self.clone(), new_id());
        let (committed, own_event) = (event.clone(), event.clone());
        let work = move |conn: &mut Conn| {
            let allowed = switch.allowed(conn, &gate)?;
            let now = gate.clock.now(conn)?;
            let (told, entry) = match allowed {
                Ok(target) => {
                    let changed = switch.set(conn, &target, now)?;
                    let outcome = if changed { CHANGED } else { UNCHANGED };
                    (Ok(changed), switch.entry(outcome).with("target", target.key()))
                }
                Err(denial) => {
                    let entry = switch.denied(&denial);
                    (Err(denial), entry)
                }
            };
            audit::record(conn, &event, now, &entry).map(|()| told)
        };
        // Of a denial it is enough to be told to try again.
        let recall = move |conn: &mut Conn| {
            let event = events::find(conn, &own_event)?.filter(|event| !event.denied);
            Ok(event.map(|event| Ok(event.outcome == CHANGED)))
        };
        Ok(self.db.write_once(&committed, work, recall).await??)
    }
}

/// The outcomes that the log has.
const CHANGED: &str = "done";
const UNCHANGED: &str = "unchanged";

/// One turn of the switch.
struct Switch {
    /// Who turns it; nobody at the command line.
    owner: Option<Decider>,
    target: Option<PauseTarget>,
    on: bool,
}

impl Switch {
    /// The target, held against everybody who acts on what is paused.
    fn allowed(&self, conn: &mut Conn, gate: &Gate) -> QueryResult<Result<PauseTarget, Denial>> {
        if let Some(owner) = &self.owner
            && let Err(denial) = owner.hold(conn, &gate.clock, |role| role == Role::Owner)?
        {
            return Ok(Err(denial));
        }
        let known = match &self.target {
            None => false,
            Some(PauseTarget::Everything) => true,
            Some(PauseTarget::Kind(name)) => gate.registry.find_kind(name).is_some(),
            Some(PauseTarget::Agent(id)) => agents::find(conn, id)?.is_some(),
        };
        let Some(target) = self.target.clone().filter(|_| known) else {
            return Ok(Err(Denial::new(Code::NotFound, self.no_such_target(gate))));
        };
        Latch::Pauses.take(conn)?;
        Ok(Ok(target))
    }

    fn no_such_target(&self, gate: &Gate) -> String {
        match &self.target {
            Some(PauseTarget::Kind(_)) => {
                let kinds: Vec<_> = gate.registry.kinds().map(|kind| kind.spec().name).collect();
                format!("There is no such kind. The kinds are {}.", kinds.join(", "))
            }
            _ => "There is no such agent.".to_owned(),
        }
    }

    /// Answers whether that changed anything.
    fn set(&self, conn: &mut Conn, target: &PauseTarget, now: Timestamp) -> QueryResult<bool> {
        let changed = if self.on {
            let pause = Pause {
                target: target.key(),
                paused_by: self.owner.as_ref().map(|owner| owner.person_id.clone()),
                paused_at: now,
                restored_from: None,
            };
            pauses::insert(conn, &pause)?
        } else {
            pauses::delete(conn, &target.key())?
        };
        Ok(changed == 1)
    }

    fn entry(&self, outcome: &'static str) -> Entry {
        let (what, actor, source) = self.turned();
        Entry::new(what, actor, source, outcome)
    }

    fn denied(&self, denial: &Denial) -> Entry {
        let (what, actor, source) = self.turned();
        let entry = Entry::denied(what, actor, source, denial.code);
        // A target that nothing is called is somebody's words, which the log doesn't repeat.
        let known = self.target.iter().filter(|_| denial.code != Code::NotFound);
        known.fold(entry, |entry, target| entry.with("target", target.key()))
    }

    fn turned(&self) -> (What, Actor, &Source) {
        let what = if self.on { What::Pause } else { What::Resume };
        match &self.owner {
            Some(owner) => (what, owner.actor(), &owner.source),
            None => (what, Actor::System, &Source::CLI),
        }
    }
}
