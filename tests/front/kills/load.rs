//! Agents and approvers who go on until the server is gone, and write down what they were told.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;

use super::known::{Known, Stored};
use crate::support::person::Reply;
use crate::support::shop::{adjustment, cancellation, id, refund, with_key};
use crate::support::site::Site;
use crate::support::{Agent, Person};

const AGENTS: usize = 8;
const APPROVERS: usize = 4;

/// Everybody who calls one server.
pub struct Callers {
    pub agents: Vec<Agent>,
    pub approvers: Vec<Person>,
}

/// The callers at work.
pub struct Load {
    tasks: Vec<JoinHandle<Known>>,
    is_over: Arc<AtomicBool>,
    number: usize,
}

impl Site {
    /// Everybody who calls the program that runs now: the agent and the person in many processes.
    pub fn callers(&self) -> Callers {
        Callers {
            agents: (0..AGENTS).map(|_| self.agent()).collect(),
            approvers: (0..APPROVERS).map(|_| self.person()).collect(),
        }
    }
}

impl Callers {
    /// Sets everybody to work on the order `#NUMBER`.
    pub fn load(&self, number: usize) -> Load {
        let (waiting, is_over) = (Arc::default(), Arc::default());
        let agents =
            self.agents.iter().enumerate().map(|(caller, agent)| {
                tokio::spawn(ask(agent.clone(), number, caller, Arc::clone(&waiting)))
            });
        let approvers = self
            .approvers
            .iter()
            .map(|person| tokio::spawn(approve(person.clone(), Arc::clone(&waiting), Arc::clone(&is_over))));
        Load {
            tasks: agents.chain(approvers).collect(),
            is_over,
            number,
        }
    }

    /// Repeats every call that was not answered, and some that were.
    pub async fn ask_again(&self, known: &Known, stored: &Stored) {
        let (agent, person) = (&self.agents[0], &self.approvers[0]);
        let unanswered = known.requests.iter().filter(|(_, _, answer)| answer.is_none());
        let answered = known.requests.iter().rev().filter(|(_, _, answer)| answer.is_some());
        for (tool, arguments, _) in unanswered.chain(answered.take(3)) {
            let answer = agent.call(tool, arguments.clone()).await;
            if answer.is_error {
                assert_eq!((answer.code(), *tool), ("rule_refused", "request_order_cancellation"));
                continue;
            }
            let (expected, action) = match stored.of(arguments) {
                None => ("new", None),
                Some((action, status)) => match status.as_str() {
                    "pending" => ("joined", Some(action)),
                    "executed" => ("replayed", Some(action)),
                    _ => ("new", None),
                },
            };
            let answer = answer.ok();
            assert_eq!(answer["disposition"], expected, "{answer}");
            assert!(action.is_none_or(|action| action == id(&answer)));
        }
        for (seen, reply) in known.approvals.iter().filter(|(_, reply)| reply.is_none()) {
            let again = person.approve_as_seen(seen).await;
            let is_told =
                again.status == 200 || again.code() == "already_decided" || is_asked_once_more(&again);
            assert!(is_told, "{reply:?}, then {again:?}");
        }
    }
}

impl Load {
    /// Waits until everybody has noticed that the server is gone.
    pub async fn end(self) -> Known {
        self.is_over.store(true, Ordering::SeqCst);
        let mut known = Known {
            number: self.number,
            ..Known::default()
        };
        for task in self.tasks {
            let told = task.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
            known.requests.extend(told.requests);
            known.approvals.extend(told.approvals);
            known.withdrawals.extend(told.withdrawals);
        }
        known
    }
}

/// An agent that asks for one write after the other, and takes every seventh back. No two writes of a round are alike but
/// the cancellations: an approver can acknowledge only so many equal requests.
async fn ask(agent: Agent, number: usize, caller: usize, waiting: Arc<Mutex<Vec<String>>>) -> Known {
    let (mut known, order) = (Known::default(), format!("#{number}"));
    for count in 0.. {
        let own = count * AGENTS + caller;
        let (tool, arguments) = match count % 5 {
            4 => ("request_order_cancellation", cancellation(&order)),
            3 => ("request_stock_adjustment", adjustment("SKU-1", 1 + (number * 97 + own) % 1_000)),
            _ => ("request_refund", refund(&order, 1 + own)),
        };
        let arguments = with_key(arguments, format!("{number}.{caller}.{count}"));
        match agent.try_call(tool, arguments.clone()).await {
            Ok(answer) if answer.is_error => {
                assert_eq!((answer.code(), tool), ("rule_refused", "request_order_cancellation"));
            }
            Ok(answer) => {
                let action = id(&answer.body).to_owned();
                known.requests.push((tool, arguments, Some(answer.body)));
                if count % 7 != 6 {
                    waiting.lock().unwrap().push(action);
                    continue;
                }
                match agent.try_call("withdraw_action", json!({ "action_id": action })).await {
                    Ok(answer) => known.withdrawals.push(answer.ok()),
                    Err(_) => break,
                }
            }
            Err(error) => {
                if !error.is_connect() {
                    known.requests.push((tool, arguments, None));
                }
                break;
            }
        }
    }
    known
}

/// An approver who approves whatever waits.
async fn approve(person: Person, waiting: Arc<Mutex<Vec<String>>>, is_over: Arc<AtomicBool>) -> Known {
    let mut known = Known::default();
    while !is_over.load(Ordering::SeqCst) {
        let next = waiting.lock().unwrap().pop();
        let Some(action) = next else {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        let Ok(mut seen) = person.try_action(&action).await else { break };
        seen.as_object_mut().unwrap().remove("subject_versions");
        let reply = person.try_to_approve(&seen).await;
        if reply.as_ref().is_ok_and(is_asked_once_more) {
            waiting.lock().unwrap().push(action);
            continue;
        }
        let is_gone = reply.is_err();
        if !reply.as_ref().is_err_and(reqwest::Error::is_connect) {
            known.approvals.push((seen, reply.ok()));
        }
        if is_gone {
            break;
        }
    }
    known
}

/// An equal request came in between the look and the approval.
fn is_asked_once_more(reply: &Reply) -> bool {
    reply.body["code"] == "related_actions"
}
