//! The calls that a step makes, and what the callers hear.

use serde_json::Value;

use super::machine::{Key, Name, SlotName, Step, Told, Write};
use super::place::{Callers, order, sku};
use crate::support::person::Reply;
use crate::support::shop::{adjustment, cancellation, refund, with_key};

/// What a caller was told.
#[derive(Debug)]
pub enum Heard {
    Answer(Value),
    Refused(String),
    Ended(String),
    TooLate(String),
}

/// Makes the call of a step. There is no answer from a process that is killed.
pub async fn call(callers: Callers, step: Step, number: usize, seen: Value) -> Option<Heard> {
    match step {
        Step::Request { slot, write } => {
            let (tool, arguments) = asking(slot, write, number);
            let answer = callers.agents[slot.0].try_call(tool, arguments).await.ok()?;
            Some(if answer.is_error {
                Heard::Refused(answer.code().to_owned())
            } else {
                Heard::Answer(answer.body)
            })
        }
        Step::Withdraw(((agent, _), _)) => {
            let answer = callers.agents[agent].try_call("withdraw_action", seen).await.ok()?;
            Some(Heard::Ended(text(&answer.ok()["status"])))
        }
        Step::Approve { acknowledge, .. } => {
            let mut seen = seen;
            if !acknowledge {
                seen.as_object_mut().unwrap().remove("related");
            }
            callers.person.try_to_approve(&seen).await.ok().map(decided)
        }
        Step::Reject(_) => callers.person.try_to_reject(&seen, "No").await.ok().map(decided),
    }
}

fn decided(reply: Reply) -> Heard {
    if reply.status == 200 {
        return Heard::Ended(text(&reply.body["status"]));
    }
    match reply.code() {
        "already_decided" => Heard::TooLate(text(&reply.body["winner"]["status"])),
        code => Heard::Refused(code.to_owned()),
    }
}

fn asking((_, key): SlotName, write: Write, number: usize) -> (&'static str, Value) {
    let (tool, arguments) = match write {
        Write::Refund(amount) => ("request_refund", refund(&order(number), amount)),
        Write::Cancellation => ("request_order_cancellation", cancellation(&order(number))),
        Write::Adjustment(delta) => ("request_stock_adjustment", adjustment(&sku(number), delta)),
    };
    match key {
        Key::Explicit(which) => (tool, with_key(arguments, format!("{number} {which}"))),
        Key::Derived(_) => (tool, arguments),
    }
}

/// The event that an answer to an agent must leave with its action. That of a decision the books look for.
pub fn event(step: Step, told: Told) -> Option<(Name, String)> {
    match (step, told) {
        (
            _,
            Told::Answer {
                action, disposition, ..
            },
        ) => {
            let outcome = if disposition == "new" { "pending" } else { disposition };
            Some((action, format!("tool_call {outcome}")))
        }
        (Step::Withdraw(action), Told::Ended(status)) => {
            Some((action, format!("tool_call {}", status.as_str())))
        }
        _ => None,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}
