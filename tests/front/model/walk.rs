//! One history: steps at random, each held against the machine.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::call::{Heard, call, event};
use super::machine::{Key, Machine, Name, Status, Step, TIME_TO_LIVE, Told, Write};
use super::place::{Place, Stored, order, sku};
use crate::support::races::race;
use crate::support::random::Random;
use crate::support::shop::id;

const WRITES: [Write; 5] = [
    Write::Refund(1),
    Write::Refund(2),
    Write::Cancellation,
    Write::Adjustment(1),
    Write::Adjustment(-1),
];
/// Across an expiry, across the shorter window, across the longer one.
const PAUSES: [i64; 5] = [1, 5, TIME_TO_LIVE, 12 * 60, 24 * 60];

pub struct Walk<'a> {
    place: &'a mut Place,
    machine: Machine,
    number: usize,
    ids: BTreeMap<Name, String>,
    /// How often each event of an action must be there at least, and at most: nobody knows whether a call that got no
    /// answer was made.
    events: BTreeMap<(Name, String), (usize, usize)>,
    /// How long the latest call took.
    took: Duration,
    random: Random,
}

/// How many steps had an answer, and how many were cut off.
#[derive(Default)]
pub struct Tally {
    told: BTreeMap<&'static str, usize>,
    stood: usize,
    undone: usize,
}

impl<'a> Walk<'a> {
    /// An order of which one to four can go back, and a product with up to two pieces.
    pub async fn begin(place: &'a mut Place, number: usize, mut random: Random) -> Self {
        let (total, stock) = (random.between(1, 4), random.between(0, 2));
        place.app.order(&order(number), total).await;
        place.app.product(&sku(number), stock).await;
        place.books = Some(place.app.books());
        Self {
            machine: Machine::new(total, stock),
            ids: BTreeMap::new(),
            events: BTreeMap::new(),
            took: Duration::from_millis(10),
            place,
            number,
            random,
        }
    }

    pub async fn step(&mut self, tally: &mut Tally) {
        let mut names = self.machine.names();
        if self.random.once_in(2) {
            names.retain(|name| self.machine.status(*name) == Status::Pending);
        }
        let action = self.random.choose(&names).copied();
        let step = match (self.random.below(20), action) {
            (0..3, _) => return self.time(),
            (3, _) => return self.pause().await,
            (4..10, Some(action)) => Step::Approve {
                action,
                acknowledge: self.random.once_in(2),
            },
            (10, Some(action)) => Step::Reject(action),
            (11, Some(action)) => Step::Withdraw(action),
            (12..15, Some((slot, _))) => Step::Request {
                slot,
                write: self.machine.slots[&slot].write,
            },
            _ => self.request(),
        };
        match self.random.below(12) {
            0 => self.cut_off(step, tally).await,
            1..3 => self.at_once(step, 3, tally).await,
            _ => self.at_once(step, 1, tally).await,
        }
    }

    /// What is stored is what the machine says, and every answer has its event.
    pub async fn end(mut self) {
        if self.machine.paused {
            self.pause().await;
        }
        self.holds(&self.machine.clone()).await.unwrap();
        self.place.books.take().unwrap().balance();
        for (name, id) in &self.ids {
            let found = self.place.events(id);
            let known =
                self.events.range((*name, String::new())..).take_while(|((other, _), _)| other == name);
            for ((_, event), (least, most)) in known {
                let count = found.get(event).copied().unwrap_or_default();
                assert!(
                    (*least..=*most).contains(&count),
                    "{name:?}: {event}: {count}, not {least} to {most}"
                );
            }
        }
    }

    fn request(&mut self) -> Step {
        let write = *self.random.choose(&WRITES).unwrap();
        let agent = usize::from(self.random.once_in(3));
        let key = match self.random.below(3) {
            0 => Key::Explicit(self.random.below(2)),
            _ => Key::Derived(write),
        };
        Step::Request {
            slot: (agent, key),
            write,
        }
    }

    fn time(&mut self) {
        let minutes = *self.random.choose(&PAUSES).unwrap();
        self.place.pass(minutes);
        self.machine.pass(minutes);
    }

    async fn pause(&mut self) {
        self.machine.paused = !self.machine.paused;
        self.place.pause(self.machine.paused).await;
    }

    /// The same call from several at once, in whichever processes.
    async fn at_once(&mut self, step: Step, count: usize, tally: &mut Tally) {
        let callers: Vec<_> = (0..count).map(|_| usize::from(self.random.once_in(2))).collect();
        let seen = self.seen(step).await;
        let calls: Vec<_> = callers
            .into_iter()
            .map(|process| call(self.place.callers(process).clone(), step, self.number, seen.clone()))
            .collect();
        let begun = Instant::now();
        let mut told: Vec<_> = race(calls).await.into_iter().map(Option::unwrap).collect();
        self.took = begun.elapsed();
        for _ in 0..count {
            let expected = self.machine.take(step);
            let found = told.iter().position(|one| self.is_meant(one, expected));
            let found = found.unwrap_or_else(|| panic!("{step:?}: {expected:?} is not among {told:?}"));
            self.learn(step, expected, &told.swap_remove(found));
            *tally.told.entry(expected.as_str()).or_default() += 1;
        }
        self.holds(&self.machine.clone()).await.unwrap();
    }

    /// A call to a process that is killed in the middle of it: it was made, or it was not.
    async fn cut_off(&mut self, step: Step, tally: &mut Tally) {
        let seen = self.seen(step).await;
        let call = tokio::spawn(call(self.place.callers(1).clone(), step, self.number, seen));
        let share = u32::try_from(self.random.below(20)).unwrap();
        self.place.kill(self.took * share / 10).await;

        let (before, mut after) = (self.machine.clone(), self.machine.clone());
        let expected = after.take(step);
        if let Some(answer) = call.await.unwrap() {
            assert!(self.is_meant(&answer, expected), "{step:?}: {answer:?}, not {expected:?}");
            self.machine = after;
            self.holds(&self.machine.clone()).await.unwrap();
            return self.learn(step, expected, &answer);
        }
        let (is_done, is_undone) = (self.holds(&after).await, self.holds(&before).await);
        match (&is_done, &is_undone) {
            (Ok(()), Ok(())) => {}
            (Ok(()), Err(_)) => (self.machine, tally.stood) = (after, tally.stood + 1),
            (Err(_), Ok(())) => tally.undone += 1,
            (Err(done), Err(undone)) => panic!("{step:?} was half done:\n{done}\n{undone}"),
        }
        if let Some(event) = event(step, expected) {
            self.events.entry(event).or_default().1 += 1;
        }
    }

    /// What an approver looks at before the decision.
    async fn seen(&self, step: Step) -> Value {
        match step {
            Step::Approve { action, .. } | Step::Reject(action) => {
                self.place.callers(0).person.action(&self.ids[&action]).await
            }
            Step::Withdraw(action) => json!({ "action_id": self.ids[&action] }),
            Step::Request { .. } => Value::Null,
        }
    }

    /// Whether that is what the machine says, about the action it says.
    fn is_meant(&self, heard: &Heard, expected: Told) -> bool {
        match (expected, heard) {
            (
                Told::Answer {
                    disposition,
                    action,
                    status,
                },
                Heard::Answer(answer),
            ) => {
                let is_known = match self.ids.get(&action) {
                    Some(known) => known == id(answer),
                    None => self.ids.values().all(|known| known != id(answer)),
                };
                is_known
                    && answer["disposition"] == disposition
                    && answer["attempt"] == action.1
                    && answer["status"] == status.as_str()
            }
            (Told::Refused(expected), Heard::Refused(code)) => code == expected,
            (Told::Ended(expected), Heard::Ended(status))
            | (Told::TooLate(expected), Heard::TooLate(status)) => status == expected.as_str(),
            _ => false,
        }
    }

    fn learn(&mut self, step: Step, expected: Told, heard: &Heard) {
        if let (Told::Answer { action, .. }, Heard::Answer(answer)) = (expected, heard) {
            self.ids.insert(action, id(answer).to_owned());
        }
        if let Some(event) = event(step, expected) {
            let (least, most) = self.events.entry(event).or_default();
            (*least, *most) = (*least + 1, *most + 1);
        }
    }

    async fn holds(&mut self, machine: &Machine) -> Result<(), String> {
        let (mut stored, ids) = self.place.stored(self.number).await;
        // Nobody need have met an action that is past due.
        for (name, status) in &mut stored.actions {
            if *status == Status::Pending && machine.slots.contains_key(&name.0) {
                *status = match machine.slots[&name.0].attempts.get(name.1 - 1) {
                    Some(attempt) if attempt.status == Status::Expired => Status::Expired,
                    _ => Status::Pending,
                };
            }
        }
        let expected = Stored {
            actions: machine.names().into_iter().map(|name| (name, machine.status(name))).collect(),
            refunded: machine.refunded,
            cancelled: machine.cancelled,
            stock: machine.stock,
        };
        if stored != expected {
            return Err(format!("stored: {stored:#?}\nexpected: {expected:#?}"));
        }
        self.ids = ids;
        Ok(())
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in &self.told {
            write!(f, "{count} {what}, ")?;
        }
        write!(f, "{} killed after the commit, {} before", self.stood, self.undone)
    }
}
