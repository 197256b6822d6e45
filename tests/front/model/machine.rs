//! The table of what a repeated request gets, and what a decision comes to, as a state machine of its own: it knows no
//! database, no process and no id.

use std::collections::BTreeMap;

/// In minutes.
pub const TIME_TO_LIVE: i64 = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Write {
    Refund(i64),
    Cancellation,
    Adjustment(i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Derived(Write),
    Explicit(u64),
}

/// An agent's name for a write.
pub type SlotName = (usize, Key);
/// An action: its slot, and which attempt it is, from 1.
pub type Name = (SlotName, usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    Pending,
    Executed,
    Failed,
    Rejected,
    Withdrawn,
    Expired,
}

#[derive(Debug, Clone, Copy)]
pub enum Step {
    Request { slot: SlotName, write: Write },
    Approve { action: Name, acknowledge: bool },
    Reject(Name),
    Withdraw(Name),
}

/// What the caller is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    Answer {
        disposition: &'static str,
        action: Name,
        status: Status,
    },
    Refused(&'static str),
    /// What the action has become, by this step or by an earlier one.
    Ended(Status),
    /// Another decision, or the clock, was first.
    TooLate(Status),
}

#[derive(Debug, Clone)]
pub struct Attempt {
    pub status: Status,
    requested: i64,
    decided: i64,
}

#[derive(Debug, Clone)]
pub struct Slot {
    pub write: Write,
    pub attempts: Vec<Attempt>,
}

/// One order, one product, two agents.
#[derive(Debug, Clone)]
pub struct Machine {
    minute: i64,
    total: i64,
    pub refunded: i64,
    pub cancelled: bool,
    pub stock: i64,
    pub paused: bool,
    pub slots: BTreeMap<SlotName, Slot>,
}

impl Machine {
    pub fn new(total: i64, stock: i64) -> Self {
        Self {
            minute: 0,
            total,
            refunded: 0,
            cancelled: false,
            stock,
            paused: false,
            slots: BTreeMap::new(),
        }
    }

    /// Whatever was pending for too long is over.
    pub fn pass(&mut self, minutes: i64) {
        self.minute += minutes;
        for attempt in self.slots.values_mut().flat_map(|slot| &mut slot.attempts) {
            if attempt.status == Status::Pending && attempt.requested + TIME_TO_LIVE <= self.minute {
                attempt.status = Status::Expired;
            }
        }
    }

    pub fn names(&self) -> Vec<Name> {
        let attempts = self.slots.iter().map(|(name, slot)| (*name, slot.attempts.len()));
        attempts
            .flat_map(|(name, count)| (1..=count).map(move |attempt| (name, attempt)))
            .collect()
    }

    pub fn status(&self, (slot, attempt): Name) -> Status {
        self.slots[&slot].attempts[attempt - 1].status
    }

    pub fn take(&mut self, step: Step) -> Told {
        match step {
            Step::Request { slot, write } => self.request(slot, write),
            Step::Approve { action, acknowledge } => self.approve(action, acknowledge),
            Step::Reject(action) => match self.status(action) {
                Status::Pending => Told::Ended(self.end(action, Status::Rejected)),
                status => Told::TooLate(status),
            },
            Step::Withdraw(action) => match self.status(action) {
                Status::Pending => Told::Ended(self.end(action, Status::Withdrawn)),
                status => Told::Ended(status),
            },
        }
    }

    fn request(&mut self, name: SlotName, write: Write) -> Told {
        let slot = self.slots.get(&name);
        if slot.is_some_and(|slot| slot.write != write) {
            return Told::Refused("idempotency_key_reused");
        }
        let (count, last) = slot.map_or((0, None), |slot| (slot.attempts.len(), slot.attempts.last()));
        let answer = |disposition, status| Told::Answer {
            disposition,
            action: (name, count),
            status,
        };
        match last.map(|last| (last.status, last.decided)) {
            Some((Status::Pending, _)) => return answer("joined", Status::Pending),
            Some((status @ (Status::Executed | Status::Rejected), decided))
                if matches!(name.1, Key::Explicit(_)) || self.minute < decided + window(write) =>
            {
                return if self.paused { Told::Refused("paused") } else { answer("replayed", status) };
            }
            _ => {}
        }
        if self.paused {
            return Told::Refused("paused");
        }
        if !self.rules_hold(write) {
            return Told::Refused("rule_refused");
        }
        let (requested, empty) = (self.minute, Vec::new());
        let slot = self.slots.entry(name).or_insert(Slot {
            write,
            attempts: empty,
        });
        slot.attempts.push(Attempt {
            status: Status::Pending,
            requested,
            decided: 0,
        });
        Told::Answer {
            disposition: "new",
            action: (name, slot.attempts.len()),
            status: Status::Pending,
        }
    }

    fn approve(&mut self, action: Name, acknowledge: bool) -> Told {
        let status = self.status(action);
        if status != Status::Pending {
            return Told::TooLate(status);
        }
        if self.paused {
            return Told::Refused("paused");
        }
        if !acknowledge && self.has_equal(action) {
            return Told::Refused("related_actions");
        }
        let write = self.slots[&action.0].write;
        if !self.rules_hold(write) {
            return Told::Ended(self.end(action, Status::Failed));
        }
        match write {
            Write::Refund(amount) => self.refunded += amount,
            Write::Cancellation => self.cancelled = true,
            Write::Adjustment(delta) => self.stock += delta,
        }
        Told::Ended(self.end(action, Status::Executed))
    }

    fn end(&mut self, (slot, attempt): Name, status: Status) -> Status {
        let attempt = &mut self.slots.get_mut(&slot).unwrap().attempts[attempt - 1];
        (attempt.status, attempt.decided) = (status, self.minute);
        status
    }

    fn rules_hold(&self, write: Write) -> bool {
        match write {
            Write::Refund(amount) => self.refunded + amount <= self.total,
            Write::Cancellation => !self.cancelled,
            Write::Adjustment(delta) => self.stock + delta >= 0,
        }
    }

    /// Whether the same write is open elsewhere, or was done just before.
    fn has_equal(&self, action: Name) -> bool {
        let write = self.slots[&action.0].write;
        let equal = self.slots.iter().filter(|(_, slot)| slot.write == write);
        let attempts =
            equal.flat_map(|(name, slot)| (1..).zip(&slot.attempts).map(move |(n, a)| ((*name, n), a)));
        attempts.filter(|(name, _)| *name != action).any(|(_, other)| match other.status {
            Status::Pending => true,
            Status::Executed => self.minute < other.decided + window(write),
            _ => false,
        })
    }
}

/// How long a repetition is taken for a retry, in minutes.
fn window(write: Write) -> i64 {
    match write {
        Write::Adjustment(_) => 5,
        Write::Refund(_) | Write::Cancellation => 24 * 60,
    }
}

impl Told {
    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer { disposition, .. } => disposition,
            Self::Refused(code) => code,
            Self::Ended(status) => status.as_str(),
            Self::TooLate(_) => "too late",
        }
    }
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Executed => "executed",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
        }
    }

    pub fn of(text: &str) -> Self {
        let all = [
            Self::Pending,
            Self::Executed,
            Self::Failed,
            Self::Rejected,
            Self::Withdrawn,
            Self::Expired,
        ];
        all.into_iter()
            .find(|status| status.as_str() == text)
            .unwrap_or_else(|| panic!("a status {text}"))
    }
}
