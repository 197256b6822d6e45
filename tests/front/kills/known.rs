//! What callers were told, and whether the database still says so.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::support::Database;
use crate::support::person::Reply;
use crate::support::rival::Rival;
use crate::support::shop::id;

/// What callers sent, and what they were told; nothing where the server went away first.
#[derive(Default)]
pub struct Known {
    pub number: usize,
    /// Each with its tool and arguments.
    pub requests: Vec<(&'static str, Value, Option<Value>)>,
    /// Each with the action as it was seen.
    pub approvals: Vec<(Value, Option<Reply>)>,
    pub withdrawals: Vec<Value>,
}

/// What became of all calls.
#[derive(Default)]
pub struct Tally {
    requests: Counts,
    approvals: Counts,
}

#[derive(Default)]
struct Counts {
    answered: usize,
    /// Committed, although the server went away before it could say so.
    stood: usize,
    cut_off: usize,
}

/// The actions of one round as the database has them: by idempotency key, the id and the status.
pub struct Stored(BTreeMap<String, (String, String)>);

impl Stored {
    fn read(database: &Database, number: usize) -> Self {
        let rows = Rival::on(database).texts(&format!(
            "SELECT slot_key || ' ' || id || ' ' || status AS t FROM actions WHERE slot_key LIKE 'e:{number}.%'"
        ));
        let parts = rows.iter().map(|row| row.splitn(3, ' ').map(str::to_owned).collect::<Vec<_>>());
        Self(parts.map(|row| (row[0].clone(), (row[1].clone(), row[2].clone()))).collect())
    }

    /// The action of a request with these arguments.
    pub fn of(&self, arguments: &Value) -> Option<&(String, String)> {
        self.0.get(&format!("e:{}", arguments["idempotency_key"].as_str().unwrap()))
    }

    fn status(&self, action: &str) -> &str {
        &self
            .0
            .values()
            .find(|(id, _)| id == action)
            .unwrap_or_else(|| panic!("{action} is lost"))
            .1
    }
}

impl Known {
    /// Whoever was answered keeps what they were told. Whoever was not may have been done or not.
    pub fn still_holds(&self, database: &Database, tally: &mut Tally) -> Stored {
        let stored = Stored::read(database, self.number);
        for (_, arguments, answer) in &self.requests {
            let found = stored.of(arguments);
            if let Some(answer) = answer {
                assert_eq!(found.map(|(action, _)| action.as_str()), Some(id(answer)));
            }
            tally.requests.add(answer.is_some(), found.is_some());
        }
        for (seen, reply) in &self.approvals {
            let status = stored.status(id(seen));
            match reply {
                Some(reply) if reply.status == 200 => assert_eq!(reply.body["status"], status),
                Some(reply) => assert_eq!(
                    (reply.code(), &reply.body["winner"]["status"]),
                    ("already_decided", &status.into()),
                    "{reply:?}"
                ),
                None => {}
            }
            tally.approvals.add(reply.is_some(), status != "pending");
        }
        for told in &self.withdrawals {
            assert_eq!(told["status"], stored.status(id(told)));
        }
        stored
    }
}

impl Tally {
    /// How many calls were committed without an answer.
    pub fn stood(&self) -> usize {
        self.requests.stood + self.approvals.stood
    }
}

impl Counts {
    fn add(&mut self, is_answered: bool, is_stored: bool) {
        let counter = match (is_answered, is_stored) {
            (true, _) => &mut self.answered,
            (false, true) => &mut self.stood,
            (false, false) => &mut self.cut_off,
        };
        *counter += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "requests: {}; approvals: {}", self.requests, self.approvals)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            answered,
            stood,
            cut_off,
        } = self;
        write!(f, "{answered} answered, {stood} committed without an answer, {cut_off} cut off before")
    }
}
