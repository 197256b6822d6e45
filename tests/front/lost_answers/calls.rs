//! The calls whose answers get lost, and what they come to when they are sent again.

use countersign::store::actions::Status;
use countersign::store::people::Role;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::told::Told;
use crate::support::rival::Rival;
use crate::support::shop::{id, refund};
use crate::support::{Agent, Database, Person, TestApp};

/// A call that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A request for the first time.
    Request,
    /// A request after one that was withdrawn.
    NextAttempt,
    /// A request after one that was executed.
    Replay,
    /// An approval of what can be done.
    Approval,
    /// An approval of what a rule refuses by now.
    Failure,
    Rejection,
    Withdrawal,
}

impl Call {
    pub const ALL: [Self; 7] = [
        Self::Request,
        Self::NextAttempt,
        Self::Replay,
        Self::Approval,
        Self::Failure,
        Self::Rejection,
        Self::Withdrawal,
    ];

    /// Where its transaction can be stopped, in their order; the last is after the commit.
    pub fn points(self) -> &'static [&'static str] {
        match self {
            Self::Request => &["begin", "slot", "action", "commit", "committed"],
            Self::NextAttempt => &["begin", "slot", "locked", "action", "commit", "committed"],
            Self::Replay => &["begin", "slot", "locked", "commit", "committed"],
            Self::Approval => &["begin", "locked", "effect", "commit", "committed"],
            Self::Failure | Self::Rejection | Self::Withdrawal => &["begin", "locked", "commit", "committed"],
        }
    }

    pub fn is_request(self) -> bool {
        matches!(self, Self::Request | Self::NextAttempt | Self::Replay)
    }

    /// Whether a person calls.
    pub fn is_decision(self) -> bool {
        matches!(self, Self::Approval | Self::Failure | Self::Rejection)
    }
}

/// Who calls, and on what database.
pub struct Scene<'a> {
    pub agent: Agent,
    pub person: Person,
    pub database: &'a Database,
}

impl<'a> Scene<'a> {
    /// An application's own agent and its approver.
    pub async fn of(app: &'a TestApp) -> Self {
        Self {
            agent: app.agent.clone(),
            person: app.person(Role::Approver).await.clone(),
            database: &app.database,
        }
    }

    /// By whom an action was ended that ended so.
    fn who_ends(&self, status: Status) -> &str {
        if status == Status::Withdrawn { &self.agent.name } else { &self.person.email }
    }
}

/// A call that is about to be sent.
#[derive(Clone)]
pub struct Ready {
    pub call: Call,
    arguments: Value,
    order: String,
    /// The action that is there already, as an approver sees it.
    seen: Option<Value>,
}

/// What every refund here is about.
const AMOUNT: i64 = 12_000;

impl Ready {
    /// Brings an order of which nobody has asked anything yet to where the call can be sent.
    pub async fn new(scene: &Scene<'_>, call: Call, order: &str) -> Self {
        let arguments = refund(order, AMOUNT);
        let mut seen = None;
        if call != Call::Request {
            let asked = scene.agent.call("request_refund", arguments.clone()).await.ok();
            assert_eq!(asked["disposition"], "new", "{asked}");
            seen = Some(scene.person.action(id(&asked)).await);
        }
        let ready = Self {
            call,
            arguments,
            order: order.to_owned(),
            seen,
        };
        match call {
            Call::NextAttempt => {
                scene.agent.call("withdraw_action", ready.action_id()).await.ok();
            }
            Call::Replay => {
                scene.person.approve_as_seen(ready.seen.as_ref().unwrap()).await.ok();
            }
            Call::Failure => ready.set_status(scene, "voided"),
            _ => {}
        }
        ready
    }

    /// Another call about the same action.
    pub fn but(&self, call: Call) -> Self {
        Self { call, ..self.clone() }
    }

    /// The call; nothing when the server went away before it answered.
    pub fn send(&self, scene: &Scene<'_>) -> BoxFuture<'static, Option<Told>> {
        let (agent, person) = (scene.agent.clone(), scene.person.clone());
        match self.call {
            Call::Request | Call::NextAttempt | Call::Replay => {
                let arguments = self.arguments.clone();
                async move { agent.try_call("request_refund", arguments).await.ok().map(Told::from) }.boxed()
            }
            Call::Withdrawal => {
                let action = self.action_id();
                async move { agent.try_call("withdraw_action", action).await.ok().map(Told::from) }.boxed()
            }
            Call::Approval | Call::Failure => {
                // Of the record only what is there when it is claimed counts.
                let mut seen = self.seen.clone().unwrap();
                seen.as_object_mut().unwrap().remove("subject_versions");
                async move { person.try_to_approve(&seen).await.ok().map(Told::from) }.boxed()
            }
            Call::Rejection => {
                let seen = self.seen.clone().unwrap();
                async move { person.try_to_reject(&seen, "No").await.ok().map(Told::from) }.boxed()
            }
        }
    }

    /// Whether an answer tells of the call as done.
    pub fn is_done(&self, told: &Told) -> bool {
        !told.is_error && told.body["status"] == self.status_after().as_str()
    }

    /// The disposition in the answer of the call when it is done; decisions have none.
    pub fn disposition_after(&self) -> Option<Value> {
        match self.call {
            Call::Request | Call::NextAttempt => Some("new".into()),
            Call::Replay => Some("replayed".into()),
            _ => None,
        }
    }

    /// Sends the call again and looks at what it is told: `stands` says whether the first one was committed. Then follows the
    /// action to its end, and looks whether the effect is there exactly once.
    pub async fn send_again(&self, scene: &Scene<'_>, stands: bool) {
        let told = self.send(scene).await.unwrap();
        let call = self.call;
        if call.is_request() || call == Call::Withdrawal {
            assert!(self.is_done(&told), "{call:?}: {told:?}");
        } else if stands {
            self.is_told_of(self, scene, &told);
        } else {
            assert!(self.is_done(&told), "{call:?}: {told:?}");
        }
        let body = &told.body;
        match call {
            Call::Request => assert_eq!((disposition(body), &body["attempt"]), (opened(stands), &1.into())),
            Call::NextAttempt => {
                assert_eq!((disposition(body), &body["attempt"]), (opened(stands), &2.into()));
                assert_eq!(body["previous_action_id"], self.seen.as_ref().unwrap()["action_id"]);
            }
            Call::Replay => assert_eq!((disposition(body), id(body)), ("replayed", self.id())),
            _ => {}
        }
        self.come_to_an_end(scene, &told).await;
    }

    /// Looks at what somebody is told whose call came after one that ended the action, at whichever scene that was.
    pub fn is_told_of(&self, winner: &Self, scene: &Scene<'_>, told: &Told) {
        let (call, body, status) = (self.call, &told.body, winner.status_after());
        if call == Call::Withdrawal {
            assert!(!told.is_error && body["status"] == status.as_str(), "{call:?}: {told:?}");
            return;
        }
        assert_eq!(body["code"], "already_decided", "{call:?}: {told:?}");
        assert_eq!(body["winner"]["status"], status.as_str(), "{call:?}: {told:?}");
        assert_eq!(body["winner"]["by"], scene.who_ends(status), "{call:?}: {told:?}");
    }

    /// Approves what is still open, and asks once more for all of it: 0, then 1, then still 1.
    async fn come_to_an_end(&self, scene: &Scene<'_>, told: &Told) {
        let refunded = |count: i64| {
            let refunds =
                format!("refunds r JOIN orders o ON o.id = r.order_id WHERE o.name = '{}'", self.order);
            let mut rival = Rival::on(scene.database);
            assert_eq!(rival.number(&format!("SELECT COUNT(*) AS n FROM {refunds}")), count);
            let sum = format!("SELECT refunded_minor AS n FROM orders WHERE name = '{}'", self.order);
            assert_eq!(rival.number(&sum), count * AMOUNT);
        };
        match self.call {
            Call::Request | Call::NextAttempt => {
                refunded(0);
                assert_eq!(scene.person.approve(id(&told.body)).await.ok()["status"], "executed");
                refunded(1);
            }
            Call::Replay | Call::Approval => refunded(1),
            Call::Failure | Call::Rejection | Call::Withdrawal => refunded(0),
        }
        if self.call == Call::Failure {
            self.set_status(scene, "paid");
        }
        let again = scene.agent.call("request_refund", self.arguments.clone()).await.ok();
        match self.call {
            Call::Failure | Call::Withdrawal => {
                assert_eq!((disposition(&again), &again["attempt"]), ("new", &2.into()));
                assert_eq!(again["previous_action_id"], self.id());
                assert_eq!(scene.person.approve(id(&again)).await.ok()["status"], "executed");
                refunded(1);
            }
            Call::Rejection => {
                assert_eq!((disposition(&again), id(&again)), ("replayed", self.id()));
                refunded(0);
            }
            _ => {
                assert_eq!((disposition(&again), &again["status"]), ("replayed", &"executed".into()));
                refunded(1);
            }
        }
    }

    fn status_after(&self) -> Status {
        match self.call {
            Call::Request | Call::NextAttempt => Status::Pending,
            Call::Replay | Call::Approval => Status::Executed,
            Call::Failure => Status::Failed,
            Call::Rejection => Status::Rejected,
            Call::Withdrawal => Status::Withdrawn,
        }
    }

    fn id(&self) -> &str {
        id(self.seen.as_ref().unwrap())
    }

    fn action_id(&self) -> Value {
        json!({ "action_id": self.id() })
    }

    /// Somebody in the shop voids the order's payment, or finds that it was paid.
    fn set_status(&self, scene: &Scene<'_>, status: &str) {
        let order = &self.order;
        Rival::on(scene.database).run(&format!(
            "UPDATE orders SET financial_status = '{status}', version = version + 1 WHERE name = '{order}'"
        ));
    }
}

fn disposition(answer: &Value) -> &str {
    answer["disposition"].as_str().unwrap()
}

/// What a request sent again is told, after one that stands and one that does not.
fn opened(stands: bool) -> &'static str {
    if stands { "joined" } else { "new" }
}
