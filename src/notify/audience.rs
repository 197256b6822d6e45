//! Whom a notice concerns, and when each of them is told.

use super::{
    Bundle,
    timing::{WallClock, half_time},
    wishes::timing_of,
};
use crate::{
    db::{Conn, QueryResult, Timestamp},
    store::{
        actions::{self, Action, Status},
        agents,
        notices::{Notice, Topic},
        outbox::{self, Knows},
        people::{self, Person, Role},
        preferences::{self, List, Settings, Timing},
    },
};

/// One person to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listener {
    pub person_id: String,
    pub bundle: Bundle,
    /// When, as far as the person's clock goes.
    pub due_at: Timestamp,
    /// The time after which it would be too late.
    pub latest: Option<Timestamp>,
    /// The clock whose quiet hours hold it back, if any do.
    pub quiet: Option<WallClock>,
}

/// Everybody there is, with their clocks.
pub(super) struct Audience {
    people: Vec<Person>,
    /// With whose they are.
    settings: Vec<(String, Settings)>,
    now: Timestamp,
}

impl Audience {
    pub(super) fn load(conn: &mut Conn, now: Timestamp) -> QueryResult<Self> {
        Ok(Self {
            people: people::all(conn)?.into_iter().filter(|person| person.enabled).collect(),
            settings: preferences::all_settings(conn)?,
            now,
        })
    }

    /// Everybody whom a notice concerns.
    pub(super) fn of(&self, conn: &mut Conn, notice: &Notice) -> QueryResult<Vec<Listener>> {
        let action = match &notice.action_id {
            Some(id) => actions::find(conn, id)?,
            None => None,
        };
        match (notice.topic, action) {
            (Topic::Requested, Some(action)) => self.of_request(conn, &action),
            (Topic::Reminder, Some(action)) => self.of_reminder(conn, &action),
            (Topic::Expired, Some(action)) => self.of_expiry(conn, &action),
            (Topic::Decided, Some(action)) => self.of_decision(conn, &action),
            (Topic::Undelivered, _) => self.owners(conn),
            (Topic::SignedIn | Topic::PasswordChanged, _) => Ok(self.alone(notice)),
            // An action is never deleted.
            (_, None) => Ok(Vec::new()),
        }
    }

    fn of_request(&self, conn: &mut Conn, action: &Action) -> QueryResult<Vec<Listener>> {
        if action.status_at(self.now) != Status::Pending {
            return Ok(Vec::new());
        }
        let interested = self.interested(conn, action)?;
        let listen = |(person, timing): (&Person, Timing)| Listener {
            due_at: self.clock(person).due(timing, self.now),
            latest: Some(half_time(action)),
            ..self.in_waking_hours(person, Bundle::of(Topic::Requested, timing))
        };
        Ok(interested.into_iter().map(listen).collect())
    }

    /// Leaves out who has just been told, or is about to be.
    fn of_reminder(&self, conn: &mut Conn, action: &Action) -> QueryResult<Vec<Listener>> {
        if action.status_at(self.now) != Status::Pending {
            return Ok(Vec::new());
        }
        let quarter = (action.expires_at - action.requested_at) / 4;
        let mut listeners = Vec::new();
        for (person, _) in self.interested(conn, action)? {
            let knows = outbox::knows(conn, &person.id, &action.id)?;
            let is_news = match knows {
                Knows::Nothing => true,
                Knows::Soon => false,
                Knows::Since(told) => told <= self.now - quarter,
            };
            if is_news {
                listeners.push(Listener {
                    // Half the time is over, and that is what quiet hours may take of it.
                    latest: Some(self.now),
                    ..self.in_waking_hours(person, Bundle::Reminders)
                });
            }
        }
        Ok(listeners)
    }

    /// Who was to decide, and to whom the agent belongs.
    fn of_expiry(&self, conn: &mut Conn, action: &Action) -> QueryResult<Vec<Listener>> {
        let interested = self.interested(conn, action)?;
        let mut listeners: Vec<_> = interested
            .iter()
            .map(|(person, _)| self.in_waking_hours(person, Bundle::Expired))
            .collect();
        let owner = self.owner_of(conn, action)?;
        let owner = owner.filter(|owner| !interested.iter().any(|(person, _)| person.id == owner.id));
        listeners.extend(owner.map(|owner| self.in_waking_hours(owner, Bundle::Outcomes)));
        Ok(listeners)
    }

    /// To whom the agent belongs, unless they decided themselves.
    fn of_decision(&self, conn: &mut Conn, action: &Action) -> QueryResult<Vec<Listener>> {
        let owner = self.owner_of(conn, action)?;
        let owner = owner.filter(|owner| action.decided_by.as_ref() != Some(&owner.id));
        Ok(owner.into_iter().map(|owner| self.in_waking_hours(owner, Bundle::Outcomes)).collect())
    }

    fn owners(&self, conn: &mut Conn) -> QueryResult<Vec<Listener>> {
        let muted = preferences::muted(conn, List::Deliveries)?;
        let owners = self.people.iter().filter(|person| person.role == Role::Owner);
        let owners = owners.filter(|owner| !muted.contains(&owner.id));
        Ok(owners.map(|owner| self.in_waking_hours(owner, Bundle::Undelivered)).collect())
    }

    fn alone(&self, notice: &Notice) -> Vec<Listener> {
        let concerned = self.people.iter().filter(|person| notice.person_id.as_ref() == Some(&person.id));
        concerned
            .map(|person| self.listener(person, Bundle::of(notice.topic, Timing::AtOnce)))
            .collect()
    }

    /// Who wants to be told of the action's kind and amount, and when.
    fn interested(&self, conn: &mut Conn, action: &Action) -> QueryResult<Vec<(&Person, Timing)>> {
        let muted = preferences::muted(conn, List::Requests)?;
        let rules = preferences::rules_for(conn, &action.kind)?;
        let timing = |person: &Person| {
            let own = rules.iter().filter(|(whose, _)| *whose == person.id).map(|(_, rule)| rule);
            timing_of(own, person.role, action.amount.zip(action.unit.as_deref()))
        };
        let present = self.people.iter().filter(|person| !muted.contains(&person.id));
        let wishes = present.map(|person| (person, timing(person)));
        Ok(wishes.filter(|(_, timing)| *timing != Timing::Never).collect())
    }

    fn owner_of(&self, conn: &mut Conn, action: &Action) -> QueryResult<Option<&Person>> {
        let muted = preferences::muted(conn, List::Outcomes)?;
        let agent = agents::find(conn, &action.agent_id)?;
        let owner_id = agent.and_then(|agent| agent.owner_id).filter(|owner| !muted.contains(owner));
        Ok(self.people.iter().find(|person| owner_id.as_ref() == Some(&person.id)))
    }

    fn listener(&self, person: &Person, bundle: Bundle) -> Listener {
        Listener {
            person_id: person.id.clone(),
            bundle,
            due_at: self.now,
            latest: None,
            quiet: None,
        }
    }

    fn in_waking_hours(&self, person: &Person, bundle: Bundle) -> Listener {
        Listener {
            quiet: Some(self.clock(person)),
            ..self.listener(person, bundle)
        }
    }

    fn clock(&self, person: &Person) -> WallClock {
        let own = self.settings.iter().find(|(whose, _)| *whose == person.id);
        WallClock::of(own.map(|(_, settings)| settings))
    }
}
