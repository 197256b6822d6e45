//! What a message says, composed from what is true when it is delivered. Every channel puts it in its own form.

use super::{
    Bundle, Notifier,
    backoff::Limits,
    timing::{WallClock, half_time, last_quarter},
    wishes::timing_of,
};
use crate::{
    db::{Conn, QueryResult, Timestamp},
    error::{Code, Error, Result},
    store::{
        actions::{Action, Status},
        notices::Topic,
        outbox::{self, Item, Message, State},
        people::{self, Person, Role},
        preferences::{self, List, Rule, Timing},
    },
    text,
    workflow::Detail,
};

/// How many things one letter tells; more are counted. Readers of mail cut off what is longer than about 100 kB.
const TOLD: usize = 50;
/// About how many bytes they may come to, and how many one of them takes beside what its agent wrote.
const BYTES: usize = 90_000;
const BYTES_EACH: usize = 2_000;

/// A letter to one person.
pub struct Letter {
    /// The message's id: the same at every try.
    pub id: String,
    pub to: Addressee,
    pub bundle: Bundle,
    /// What it tells, in the order in which it happened; at least one thing.
    pub told: Vec<Told>,
    /// What is to be told as well, but would make the letter too long.
    pub left_out: Vec<LeftOut>,
    /// The id of the message that told this person first of the one action that this letter is about.
    pub answers: Option<String>,
    /// The person's clock.
    pub clock: WallClock,
    /// When it was composed.
    pub now: Timestamp,
    /// Where people reach the dashboard, without a slash at the end.
    pub dashboard: String,
    /// The address that takes the person off this list, where there is one.
    pub leave: Option<String>,
}

/// Whom a letter is to: no more of a person than a channel needs to know.
#[derive(Debug, Clone)]
pub struct Addressee {
    pub id: String,
    pub email: String,
    pub role: Role,
}

impl From<Person> for Addressee {
    fn from(person: Person) -> Self {
        Self {
            id: person.id,
            email: person.email,
            role: person.role,
        }
    }
}

/// One thing that a letter tells.
pub enum Told {
    /// An action waits.
    Waits { detail: Box<Detail>, again: bool },
    /// Nobody decided in time.
    Expired(Box<Detail>),
    /// A person decided.
    Decided(Box<Detail>),
    /// A message was given up.
    Undelivered {
        at: Timestamp,
        /// To whom.
        to: String,
        /// What went wrong, in the receiving side's words or our own.
        words: String,
    },
    /// The person signed in from a new place.
    SignedIn { at: Timestamp, address: String },
    /// The person's password was changed.
    PasswordChanged { at: Timestamp },
}

impl Letter {
    /// What a further try keeps to, if it is not taken.
    pub(super) fn limits(&self) -> Limits {
        let mut limits = Limits {
            quiet: self.bundle.keeps_quiet().then(|| self.clock.clone()),
            ..Limits::default()
        };
        let earlier =
            |one: Option<Timestamp>, other: Timestamp| Some(one.map_or(other, |one| one.min(other)));
        for told in &self.told {
            if let Told::Waits { detail, again } = told {
                let latest = if *again { last_quarter(&detail.action) } else { half_time(&detail.action) };
                limits.latest = earlier(limits.latest, latest);
                limits.deadline = earlier(limits.deadline, detail.action.expires_at);
            }
        }
        limits
    }
}

impl Told {
    /// About how much of a letter the agent's words take.
    fn bytes(&self) -> usize {
        self.action().map_or(0, |detail| text::plain(&detail.action.reason).len())
    }

    /// The action it is about.
    pub fn action(&self) -> Option<&Detail> {
        match self {
            Self::Waits { detail, .. } | Self::Expired(detail) | Self::Decided(detail) => Some(detail),
            _ => None,
        }
    }
}

/// One thing that a letter only counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Who asked for the action it is about.
    pub agent_id: Option<String>,
    /// When it happened.
    pub at: Timestamp,
}

/// What a letter needs of the outbox.
struct Basis {
    to: Option<Person>,
    clock: WallClock,
    /// Each with the agent that asked for its action; without those that are no longer news.
    items: Vec<(Item, Option<String>)>,
    now: Timestamp,
}

impl Notifier {
    /// Composes a message's letter; none when there is nothing left to tell, or nobody to tell it to.
    pub(super) async fn compose(&self, message: &Message, bundle: Bundle) -> Result<Option<Letter>> {
        let (gate, wanted) = (self.gate.clone(), message.clone());
        let basis = self.gate.db.read(move |conn| {
            let now = gate.clock.now(conn)?;
            basis(conn, &wanted, bundle, now)
        });
        let basis = basis.await?;
        let Some(to) = basis.to else { return Ok(None) };
        let (mut told, mut left_out, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (item, agent_id) in basis.items {
            if told.len() < TOLD && bytes < BYTES {
                let one = self.tell(item).await?;
                bytes += one.as_ref().map_or(0, |one| one.bytes() + BYTES_EACH);
                told.extend(one);
            } else {
                left_out.push(LeftOut {
                    agent_id,
                    at: item.at,
                });
            }
        }
        if told.is_empty() {
            return Ok(None);
        }
        Ok(Some(Letter {
            answers: self.answers(message, &told).await?,
            leave: bundle.list().map(|list| self.leave_url(&to.id, list)),
            dashboard: self.gate.policy.public_url.clone(),
            clock: basis.clock,
            now: basis.now,
            id: message.id.clone(),
            to: to.into(),
            bundle,
            told,
            left_out,
        }))
    }

    /// What is still to be told of an item: of a request that no longer waits, nothing.
    async fn tell(&self, item: Item) -> Result<Option<Told>> {
        let detail = match &item.action_id {
            Some(id) => match self.gate.detail(id).await {
                Ok(detail) => Some(Box::new(detail)),
                Err(Error::Denied(denial)) if denial.code == Code::NotFound => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        Ok(match (item.topic, detail) {
            (Topic::Requested | Topic::Reminder, Some(detail)) if detail.status == Status::Pending => {
                let again = item.topic == Topic::Reminder;
                Some(Told::Waits { detail, again })
            }
            (Topic::Expired, Some(detail)) => Some(Told::Expired(detail)),
            (Topic::Decided, Some(detail)) => Some(Told::Decided(detail)),
            (Topic::Undelivered, _) => self.undelivered(item).await?,
            (Topic::SignedIn, _) => Some(Told::SignedIn {
                at: item.at,
                address: item.detail,
            }),
            (Topic::PasswordChanged, _) => Some(Told::PasswordChanged { at: item.at }),
            (Topic::Requested | Topic::Reminder | Topic::Expired | Topic::Decided, _) => None,
        })
    }

    async fn undelivered(&self, item: Item) -> Result<Option<Told>> {
        let found = self.gate.db.read(move |conn| {
            // One that was brought back meanwhile is no longer given up.
            let dead = outbox::find(conn, &item.detail)?.filter(|message| message.status == State::Dead);
            let Some(message) = dead else { return Ok(None) };
            let to = people::find(conn, &message.person_id)?;
            Ok(to.map(|to| Told::Undelivered {
                at: item.at,
                to: to.email,
                words: message.last_error.unwrap_or_default(),
            }))
        });
        found.await
    }

    async fn answers(&self, message: &Message, told: &[Told]) -> Result<Option<String>> {
        let [one] = told else { return Ok(None) };
        let Some(action_id) = one.action().map(|detail| detail.action.id.clone()) else {
            return Ok(None);
        };
        let message = message.clone();
        let first = self.gate.db.read(move |conn| outbox::first_about(conn, &message, &action_id));
        Ok(first.await?.map(|first| first.id))
    }
}

fn basis(conn: &mut Conn, message: &Message, bundle: Bundle, now: Timestamp) -> QueryResult<Basis> {
    let (to, mut items) = (reader(conn, message, bundle)?, Vec::new());
    let rules = preferences::rules(conn, &message.person_id)?;
    for (item, action) in outbox::items_with_actions(conn, &message.id)? {
        let waits = action.as_ref().is_some_and(|action| action.status_at(now) == Status::Pending);
        let wanted = match (&action, &to) {
            (Some(action), Some(to)) if bundle.list() == Some(List::Requests) => {
                is_wanted(&rules, to, action)
            }
            _ => true,
        };
        if wanted && (waits || !matches!(item.topic, Topic::Requested | Topic::Reminder)) {
            items.push((item, action.map(|action| action.agent_id)));
        }
    }
    Ok(Basis {
        to,
        clock: WallClock::of(preferences::settings(conn, &message.person_id)?.as_ref()),
        items,
        now,
    })
}

/// Whom a message is for, unless they have left the list since, or may no longer know.
fn reader(conn: &mut Conn, message: &Message, bundle: Bundle) -> QueryResult<Option<Person>> {
    let left = preferences::mutes(conn, &message.person_id)?;
    let has_left = bundle.list().is_some_and(|list| left.contains(&list));
    let may_know = |person: &Person| bundle != Bundle::Undelivered || person.role == Role::Owner;
    let person = people::find(conn, &message.person_id)?;
    Ok(person.filter(|person| person.enabled && !has_left && may_know(person)))
}

/// Whether a person still wants to be told of such actions.
fn is_wanted(rules: &[Rule], person: &Person, action: &Action) -> bool {
    let of_kind = rules.iter().filter(|rule| rule.kind == action.kind);
    let amount = action.amount.zip(action.unit.as_deref());
    timing_of(of_kind, person.role, amount) != Timing::Never
}
