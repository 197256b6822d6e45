//! What people are shown: one action with everything around it.

use chrono::TimeDelta;

use super::{
    Gate,
    beside::close,
    list::{BESIDE, Named, named},
    view::ActionView,
};
use crate::{
    audit::log,
    db::{Conn, QueryResult, Timestamp},
    error::{Code, Denial, Result},
    kinds::{Case, Change, Lock, Preview, Refusal},
    store::{
        actions::{self, Action, Status},
        agents, events, people,
        subjects::{self, Versions},
    },
};

/// How many of the latest events of an action's story are shown.
const SHOWN: i64 = 200;

/// Everything an approver has to know of one action.
#[derive(Debug, Clone)]
pub struct Detail {
    pub view: ActionView,
    pub action: Action,
    pub status: Status,
    pub agent: String,
    /// The owner's e-mail address, if the agent belongs to somebody.
    pub agent_owner: Option<String>,
    pub kind_title: String,
    pub left: TimeDelta,
    /// When this was read, by the database's clock.
    pub now: Timestamp,
    /// The records' versions: those of now while it is pending, later those that the request saw.
    pub versions: Versions,
    /// Whether a record changed since the request.
    pub changed: bool,
    /// What would change, from today's data; only while the action is pending and its records are there.
    pub preview: Option<Preview>,
    /// What changed when it was executed.
    pub changes: Vec<Change>,
    /// The rule that would refuse it today.
    pub refusal_today: Option<Refusal>,
    /// Other actions on the same records that are open, or were executed just before: of many the latest few of each agent
    /// and kind.
    pub related: Vec<Named>,
    /// How many others are open in all.
    pub related_open: usize,
    /// How many are not among `related`.
    pub related_left_out: usize,
    /// While it is pending, the latest equal request that was executed, and the latest that was rejected.
    pub repeats: Vec<Named>,
}

/// What happened before and since, as the page of an action tells it.
#[derive(Debug, Clone)]
pub struct Story {
    /// The latest other actions on the same records.
    pub earlier: Vec<Named>,
    /// The attempt before this one, if it ended without effect.
    pub without_effect: Option<String>,
    /// What happened so far, oldest first.
    pub happenings: Vec<Happening>,
    /// How often it was asked for again while it waited, and when last.
    pub asked_again: Option<(i64, Timestamp)>,
}

/// One event of the action's story.
#[derive(Debug, Clone)]
pub struct Happening {
    /// How many events before it are left out.
    pub left_out: i64,
    pub at: Timestamp,
    pub event: String,
    /// The e-mail address or the agent's name; empty for the system.
    pub who: String,
    pub outcome: String,
    pub denied: bool,
}

impl Gate {
    /// One action, as it is decided on.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn detail(&self, id: &str) -> Result<Detail> {
        self.one(id, Self::look).await
    }

    /// The same with its story.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn detail_and_story(&self, id: &str) -> Result<(Detail, Story)> {
        self.one(id, |gate, conn, action| {
            let detail = gate.look(conn, action)?;
            let story = story(conn, &detail)?;
            Ok((detail, story))
        })
        .await
    }

    /// One action, as it is in the hands of whoever decided it.
    ///
    /// # Errors
    /// When the database is away.
    pub async fn detail_of(&self, action: Action) -> Result<Detail> {
        let gate = self.clone();
        self.db.read(move |conn| gate.look(conn, action.clone())).await
    }

    async fn one<T: Send + 'static>(
        &self,
        id: &str,
        look: impl Fn(&Self, &mut Conn, Action) -> QueryResult<T> + Send + 'static,
    ) -> Result<T> {
        let (gate, id) = (self.clone(), id.to_owned());
        let found = self.db.read(move |conn| match actions::find(conn, &id)? {
            Some(action) => look(&gate, conn, action).map(Some),
            None => Ok(None),
        });
        Ok(found.await?.ok_or_else(|| Denial::new(Code::NotFound, "There is no such action."))?)
    }

    fn look(&self, conn: &mut Conn, action: Action) -> QueryResult<Detail> {
        let now = self.clock.now(conn)?;
        let status = action.status_at(now);
        let agent = agents::find(conn, &action.agent_id)?;
        let owner = match agent.as_ref().and_then(|agent| agent.owner_id.as_deref()) {
            Some(id) => people::find(conn, id)?.map(|person| person.email),
            None => None,
        };
        let kind = self.registry.find_kind(&action.kind);
        let case = match kind {
            Some(kind) if status == Status::Pending => kind.open(conn, &action.effective_params, Lock::No)?,
            _ => None,
        };
        let seen = subjects::of(conn, &action.id)?;
        let versions = case.as_ref().map_or_else(|| seen.clone(), |case| case.versions());
        let window =
            kind.map_or(TimeDelta::zero(), |kind| self.policy.retry_windows.acknowledged_for(kind.spec()));
        let repeats = if status == Status::Pending { repeats(conn, &action)? } else { Vec::new() };
        let close = close(conn, &action, now, now - window)?;
        Ok(Detail {
            view: self.view(conn, &action, now, None)?,
            status,
            agent: agent.map(|agent| agent.name).unwrap_or_default(),
            agent_owner: owner,
            kind_title: kind.map_or_else(|| action.kind.clone(), |kind| kind.spec().title.to_owned()),
            left: action.expires_at - now,
            now,
            changed: seen != versions,
            versions,
            preview: case.as_ref().map(|case| case.preview()),
            changes: action
                .changes
                .as_deref()
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default(),
            refusal_today: case.and_then(|case| Case::check(case.as_ref()).err()),
            related: named(conn, close.shown, now)?,
            related_open: close.open,
            related_left_out: close.left_out,
            repeats: named(conn, repeats, now)?,
            action,
        })
    }
}

fn repeats(conn: &mut Conn, action: &Action) -> QueryResult<Vec<Action>> {
    let executed = actions::equal_and_decided(conn, action, Status::Executed)?;
    let rejected = actions::equal_and_decided(conn, action, Status::Rejected)?;
    Ok(executed.into_iter().chain(rejected).collect())
}

fn story(conn: &mut Conn, Detail { action, now, .. }: &Detail) -> QueryResult<Story> {
    let latest = actions::on_same_records(conn, &action.id, BESIDE)?;
    Ok(Story {
        earlier: named(conn, latest, *now)?,
        without_effect: without_effect(conn, action, *now)?,
        happenings: happenings(conn, &action.id)?,
        asked_again: events::joins(conn, &action.id)?,
    })
}

/// The attempt before this one, if nothing came of it.
fn without_effect(conn: &mut Conn, action: &Action, now: Timestamp) -> QueryResult<Option<String>> {
    let Some(id) = &action.previous_action_id else { return Ok(None) };
    let previous = actions::find(conn, id)?;
    let nothing = [Status::Failed, Status::Expired, Status::Withdrawn];
    Ok(previous
        .filter(|previous| nothing.contains(&previous.status_at(now)))
        .map(|previous| previous.id))
}

fn happenings(conn: &mut Conn, action_id: &str) -> QueryResult<Vec<Happening>> {
    let story = events::of_action(conn, action_id, SHOWN)?;
    let actors = story.iter().filter_map(|told| told.event.actor_id.clone()).collect();
    let names = log::names(conn, actors)?;
    let told = |events::Told { event, left_out }| Happening {
        left_out,
        at: event.at,
        who: event.actor_id.and_then(|id| names.get(&id).cloned()).unwrap_or_default(),
        event: event.event,
        outcome: event.outcome,
        denied: event.denied,
    };
    Ok(story.into_iter().map(told).collect())
}
