//! An action as it is told to agents and people.

use chrono::SecondsFormat;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Gate;
use crate::{
    db::{Conn, QueryResult, Timestamp, text_enum},
    store::{
        actions::{Action, Status},
        people,
    },
};

text_enum! {
    /// What a request did with its idempotency slot.
    pub enum Disposition {
        /// A new action was opened.
        New = "new",
        /// The same request is already open.
        Joined = "joined",
        /// The same request has already been decided.
        Replayed = "replayed",
    }
}

impl Disposition {
    /// The outcome by which the log tells of the request.
    pub(super) fn outcome(self) -> &'static str {
        match self {
            Self::New => Status::Pending.as_str(),
            repeated => repeated.as_str(),
        }
    }

    /// The one of which the log tells so.
    pub(super) fn of_outcome(outcome: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|disposition| disposition.outcome() == outcome)
    }
}

/// An action in the shape of every write's answer. Absent parts are left out.
#[derive(Debug, Clone, Serialize, JsonSchema, utoipa::ToSchema)]
pub struct ActionView {
    /// UUIDv7.
    pub action_id: String,
    pub kind: String,
    /// pending, executing, executed, failed, rejected, withdrawn, expired or indeterminate.
    #[schema(value_type = String)]
    #[schemars(with = "String")]
    pub status: Status,
    /// new, joined or replayed; only in the answer to a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    #[schemars(with = "Option<String>")]
    pub disposition: Option<Disposition>,
    /// 1 for the first action of a write, one more for each that followed it.
    pub attempt: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_action_id: Option<String>,
    pub summary: String,
    /// RFC 3339, UTC.
    pub requested_at: String,
    /// RFC 3339, UTC.
    pub expires_at: String,
    /// The page on which a person decides.
    pub review_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionView>,
    /// What the executed write answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalView>,
    /// Of an old action: since when its params, reason, note and changes are no longer kept. RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<String>,
    /// What to do now.
    pub next: String,
}

/// Who decided.
#[derive(Debug, Clone, Serialize, JsonSchema, utoipa::ToSchema)]
pub struct DecisionView {
    /// The person's e-mail address.
    pub by: String,
    /// RFC 3339, UTC.
    pub at: String,
    /// Beside an approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the person changed the params before approving.
    pub amended: bool,
}

/// Why an approved action failed.
#[derive(Debug, Clone, Serialize, JsonSchema, utoipa::ToSchema)]
pub struct RefusalView {
    pub rule: String,
    pub message: String,
}

/// RFC 3339 in UTC, to the second.
pub fn rfc3339(at: Timestamp) -> String {
    at.and_utc().to_rfc3339_opts(SecondsFormat::Secs, true)
}

impl Gate {
    /// Shows an action as it stands at `now`.
    pub fn view(
        &self,
        conn: &mut Conn,
        action: &Action,
        now: Timestamp,
        disposition: Option<Disposition>,
    ) -> QueryResult<ActionView> {
        let decider = match &action.decided_by {
            Some(id) => people::find(conn, id)?.map(|person| person.email),
            None => None,
        };
        Ok(self.view_with(action, decider, now, disposition))
    }

    /// The same, with the e-mail address of whoever decided.
    pub(super) fn view_with(
        &self,
        action: &Action,
        decider: Option<String>,
        now: Timestamp,
        disposition: Option<Disposition>,
    ) -> ActionView {
        let status = action.status_at(now);
        let decision = match (&action.decided_by, action.decided_at) {
            (Some(_), Some(at)) => {
                let by = decider.unwrap_or_default();
                let rejected = action.status == Status::Rejected;
                let (reason, note) = match action.decision_note.clone() {
                    text if rejected => (text, None),
                    text => (None, text),
                };
                let amended = action.requested_params != action.effective_params;
                Some(DecisionView {
                    by,
                    at: rfc3339(at),
                    note,
                    reason,
                    amended,
                })
            }
            _ => None,
        };
        let refusal = action.refusal_rule.clone().zip(action.refusal_message.clone());
        ActionView {
            action_id: action.id.clone(),
            kind: action.kind.clone(),
            status,
            disposition,
            attempt: action.attempt,
            previous_action_id: action.previous_action_id.clone(),
            summary: action.summary.clone(),
            requested_at: rfc3339(action.requested_at),
            expires_at: rfc3339(action.expires_at),
            review_url: self.policy.review_url(&action.id),
            decision,
            result: action.result.as_deref().and_then(|result| serde_json::from_str(result).ok()),
            refusal: refusal.map(|(rule, message)| RefusalView { rule, message }),
            dropped: action.pruned_at.map(rfc3339),
            next: next(status, disposition).to_owned(),
        }
    }
}

/// What an agent should do now, in one sentence or two.
fn next(status: Status, disposition: Option<Disposition>) -> &'static str {
    match (status, disposition) {
        (Status::Pending, Some(Disposition::Joined)) => {
            "This request is already waiting, with the reason it was first given; nothing has happened yet. Ask a person \
             to open review_url, or call get_action_status with this action_id."
        }
        (Status::Pending, _) => {
            "Not done yet. Ask a person to approve it at review_url, or call get_action_status with this action_id; it \
             can wait for the decision."
        }
        (Status::Executing, _) => "Approved and under way. Call get_action_status with this action_id.",
        (Status::Executed, Some(Disposition::Replayed)) => {
            "Already done; this is the result of the earlier request and nothing was done again. To do it once more on \
             purpose, send a new idempotency_key."
        }
        (Status::Executed, _) => "Done. Nothing more to do.",
        (Status::Rejected, Some(Disposition::Replayed)) => {
            "A person already rejected this; read decision.reason. To ask once more on purpose, send a new \
             idempotency_key."
        }
        (Status::Rejected, _) => {
            "A person rejected it; nothing was changed. Read decision.reason before asking again."
        }
        (Status::Failed, _) => {
            "Approved, but a rule no longer held, so nothing was changed. Read refusal; send the same request again if \
             it is still wanted."
        }
        (Status::Withdrawn, _) => {
            "Withdrawn; nothing was changed. Send the same request again if it is still wanted."
        }
        (Status::Expired, _) => {
            "Nobody decided in time; nothing was changed. Send the same request again if it is still wanted."
        }
        (Status::Indeterminate, _) => {
            "Whether it happened is not known. A person has to look; do not ask again."
        }
    }
}
