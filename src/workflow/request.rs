//! An agent asks for a write: join, replay, or a new action.

mod denials;

use std::sync::Arc;

use serde_json::Value;

pub(super) use self::denials::no_valid_key;
pub use self::denials::scope_missing;
use self::denials::{key_required, key_reused, too_many_writes};
use super::{
    Gate,
    about::{about, told_of},
    expire::lock_current,
    pause::paused,
    slot::{Course, course},
    view::{ActionView, Disposition},
};
use crate::{
    audit::{
        self, Actor, Entry, Source, What,
        floods::{Kind as Repeated, record_unbounded},
    },
    db::{Conn, QueryResult, Timestamp, must_be_one},
    error::{Code, Denial, Error, Result},
    failpoint,
    kinds::{
        Case, JsonObject, Kind, Lock,
        canonical::{Digested, derived_key, fingerprint},
    },
    store::{
        actions::{self, Action, Status},
        agents, credentials, new_id,
        notices::{self, Notice, Topic},
        slots::{self, Slot},
        subjects,
    },
};

/// A write an agent asks for, authenticated and within its scopes.
#[derive(Clone)]
pub struct Request {
    pub agent_id: String,
    /// Names the key that the agent showed.
    pub key_prefix: String,
    pub source: Source,
    pub kind: Arc<dyn Kind>,
    /// The kind's own arguments, which its shape has checked.
    pub arguments: JsonObject,
    pub reason: String,
    /// The agent's own name for this logical write.
    pub idempotency_key: Option<String>,
}

/// What a request came to, and the time by which that was judged.
struct Asked {
    action: Action,
    disposition: Disposition,
    now: Timestamp,
}

/// The ids a request may need, made before its transaction's first try.
struct Ids {
    action: String,
    event: String,
    expiry_event: String,
}

impl Gate {
    /// Queues a write, or joins or replays the one that is already there. A denial's event has committed when this
    /// returns.
    pub async fn request(&self, request: Request) -> Result<ActionView> {
        let ids = Ids {
            action: new_id(),
            event: new_id(),
            expiry_event: new_id(),
        };
        let (gate, recaller) = (self.clone(), self.clone());
        let (event, own_event) = (ids.event.clone(), ids.event.clone());
        let work = move |conn: &mut Conn| {
            let asked = gate.ask(conn, &request, &ids)?;
            let actor = Actor::Agent(request.agent_id.clone());
            let tool = request.kind.spec().tool();
            match asked {
                Ok(Asked {
                    action,
                    disposition,
                    now,
                }) => {
                    let entry = Entry::new(What::ToolCall, actor, &request.source, disposition.outcome())
                        .with("tool", tool);
                    let subject = subjects::of(conn, &action.id)?.into_keys().next();
                    audit::record(conn, &ids.event, now, &about(entry, &action).subject(subject))?;
                    gate.view(conn, &action, now, Some(disposition)).map(Ok)
                }
                Err(denial) => {
                    let now = gate.clock.now(conn)?;
                    let entry =
                        Entry::denied(What::ToolCall, actor, &request.source, denial.code).with("tool", tool);
                    let entry =
                        denial.rule.iter().fold(entry, |entry, rule| entry.with("rule", rule.as_str()));
                    if denial.code == Code::RateLimited {
                        record_unbounded(conn, &ids.event, now, &Repeated::of(&entry), &entry)?;
                    } else {
                        audit::record(conn, &ids.event, now, &entry)?;
                    }
                    Ok(Err(denial))
                }
            }
        };
        // A denial left nothing behind: it is enough to be told to try again.
        let recall = move |conn: &mut Conn| {
            let Some((action, outcome)) = told_of(conn, &own_event)? else {
                return Ok(None);
            };
            let now = recaller.clock.now(conn)?;
            recaller
                .view(conn, &action, now, Disposition::of_outcome(&outcome))
                .map(|view| Some(Ok(view)))
        };
        self.db.write_once(&event, work, recall).await?.map_err(Error::from)
    }

    fn ask(&self, conn: &mut Conn, request: &Request, ids: &Ids) -> QueryResult<Result<Asked, Denial>> {
        let spec = request.kind.spec();
        let params = match request.kind.resolve(conn, &request.arguments)? {
            Ok(params) => params,
            Err(denial) => return Ok(Err(denial)),
        };
        let window = self.policy.retry_windows.of(spec);
        let key = match &request.idempotency_key {
            Some(key) => format!("e:{key}"),
            None if window.is_zero() => return Ok(Err(key_required())),
            None => derived_key(&request.agent_id, spec.name, &params),
        };
        let fingerprint = fingerprint(spec.name, &params);
        let slot = slots::take(conn, &request.agent_id, &key, &fingerprint)?;
        failpoint::reach("slot");
        let (current, now) = match &slot.action_id {
            Some(id) => lock_current(self, conn, id, &ids.expiry_event)?,
            None => (None, self.clock.now(conn)?),
        };
        if let Some(denial) = no_longer_allowed(conn, request)? {
            return refuse(conn, &slot, denial);
        }
        if slot.fingerprint != fingerprint {
            return refuse(conn, &slot, key_reused());
        }
        let window = self.policy.retry_windows.delta_of(spec);
        match (course(current.as_ref(), request.idempotency_key.is_some(), window, now), current) {
            (Course::Answer(Disposition::Joined), Some(action)) => Ok(Ok(Asked {
                action,
                disposition: Disposition::Joined,
                now,
            })),
            (Course::Answer(disposition), Some(action)) => {
                Ok(match paused(conn, spec.name, &request.agent_id)? {
                    Some(denial) => Err(denial),
                    None => Ok(Asked {
                        action,
                        disposition,
                        now,
                    }),
                })
            }
            (_, previous) => self.open(conn, request, ids, &slot, &params, previous.map(|action| action.id)),
        }
    }

    /// Opens a new action on the slot, if pause, write token and rules let it.
    fn open(
        &self,
        conn: &mut Conn,
        request: &Request,
        ids: &Ids,
        slot: &Slot,
        params: &str,
        previous_action_id: Option<String>,
    ) -> QueryResult<Result<Asked, Denial>> {
        let spec = request.kind.spec();
        if let Some(denial) = paused(conn, spec.name, &request.agent_id)? {
            return refuse(conn, slot, denial);
        }
        if let Some(limit) = self.policy.write_limit
            && let Err(seconds) = limit.take(conn, &request.agent_id, &self.clock)?
        {
            return refuse(conn, slot, too_many_writes(seconds));
        }
        let Some(case) = request.kind.open(conn, params, Lock::Yes)? else {
            return refuse(conn, slot, Denial::new(Code::NotFound, "There is no such record."));
        };
        if let Err(refusal) = case.check() {
            let denial = Denial {
                rule: Some(refusal.rule.to_owned()),
                ..Denial::new(Code::RuleRefused, refusal.message)
            };
            return refuse(conn, slot, denial);
        }
        let now = self.clock.now(conn)?;
        let action = self.draft(request, ids, slot, params, previous_action_id, case.as_ref(), now);
        actions::insert(conn, &action)?;
        failpoint::reach("action");
        subjects::insert(conn, &action.id, &case.versions(), action.expires_at)?;
        slots::point(conn, slot, &action.id, action.attempt).and_then(must_be_one)?;
        notices::insert(conn, &Notice::of_action(&ids.event, Topic::Requested, &action.id, now))?;
        Ok(Ok(Asked {
            action,
            disposition: Disposition::New,
            now,
        }))
    }

    #[expect(clippy::too_many_arguments, reason = "everything an action is made of, named once")]
    fn draft(
        &self,
        request: &Request,
        ids: &Ids,
        slot: &Slot,
        params: &str,
        previous_action_id: Option<String>,
        case: &dyn Case,
        now: Timestamp,
    ) -> Action {
        let spec = request.kind.spec();
        let wording = case.wording();
        let digest = Digested {
            action_id: &ids.action,
            agent_id: &request.agent_id,
            kind: spec.name,
            kind_version: spec.version,
            params,
            reason: &request.reason,
        };
        Action {
            digest: digest.digest(),
            id: ids.action.clone(),
            kind: spec.name.to_owned(),
            kind_version: spec.version,
            agent_id: request.agent_id.clone(),
            slot_key: slot.key.clone(),
            attempt: slot.attempt + 1,
            previous_action_id,
            requested_params: params.to_owned(),
            effective_params: params.to_owned(),
            fingerprint: slot.fingerprint.clone(),
            reason: request.reason.clone(),
            summary: wording.summary,
            headline: wording.headline,
            figure: wording.figure,
            status: Status::Pending,
            requested_at: now,
            expires_at: now + self.policy.action_ttl,
            decided_at: None,
            decided_by: None,
            decision_note: None,
            changes: None,
            result: None,
            refusal_rule: None,
            refusal_message: None,
            lock_no: 0,
            pruned_at: None,
            amount: wording.amount.as_ref().map(|amount| amount.value),
            unit: wording.amount.map(|amount| amount.unit),
        }
    }
}

/// Refuses, and leaves no slot behind that has no action.
fn refuse<T>(conn: &mut Conn, slot: &Slot, denial: Denial) -> QueryResult<Result<T, Denial>> {
    slots::drop_unused(conn, slot)?;
    Ok(Err(denial))
}

/// The agent was authenticated before the transaction; here it holds until the commit, and so does its key.
fn no_longer_allowed(conn: &mut Conn, request: &Request) -> QueryResult<Option<Denial>> {
    let agent = agents::hold(conn, &request.agent_id)?.filter(|agent| agent.revoked_at.is_none());
    let key = credentials::hold(conn, &request.key_prefix)?.filter(|key| key.revoked_at.is_none());
    Ok(match agent.filter(|_| key.is_some()) {
        None => Some(no_valid_key()),
        Some(agent) if !agent.has_scope(request.kind.spec().scope) => {
            Some(scope_missing(request.kind.spec().scope))
        }
        Some(_) => None,
    })
}

/// The members of a request tool's arguments that belong to every kind.
pub fn split(mut arguments: JsonObject) -> (JsonObject, String, Option<String>) {
    let reason = text(arguments.remove("reason")).unwrap_or_default();
    let key = text(arguments.remove("idempotency_key"));
    (arguments, reason, key)
}

fn text(value: Option<Value>) -> Option<String> {
    value.and_then(|value| value.as_str().map(ToOwned::to_owned))
}
