//! What a person wants to be told of, and when; kept on their account page.

use super::{Notifier, zone::Zone};
use crate::{
    audit::{self, Entry, Source, What},
    auth::Visitor,
    db::{Conn, QueryResult},
    error::{Denial, Result},
    store::{
        new_id, people,
        people::Role,
        preferences::{self, List, Rule, Settings, Timing},
    },
};

/// How many amounts a person may name for one kind.
pub const MOST_RULES: usize = 10;

/// A person's wishes, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wishes {
    pub settings: Settings,
    /// For each kind that has one, the rule for the whole kind, then those from an amount on.
    pub rules: Vec<Rule>,
    /// The lists they take no part in.
    pub left: Vec<List>,
}

impl List {
    /// What it tells of, as every page and mail that names it says.
    pub fn words(self) -> &'static str {
        match self {
            Self::Requests => "requests that wait for a decision, reminders, and requests nobody decided",
            Self::Outcomes => "what became of the requests of your own agents",
            Self::Deliveries => "messages that could not be delivered to somebody",
        }
    }
}

/// When a person is told of an action, by their rules for its kind: that of the largest amount it reaches, else that for the
/// whole kind, else what their role is for.
pub fn timing_of<'a>(
    rules: impl Iterator<Item = &'a Rule>,
    role: Role,
    amount: Option<(i64, &str)>,
) -> Timing {
    let reaches = |rule: &&Rule| {
        rule.unit.is_empty()
            || amount.is_some_and(|(value, unit)| rule.unit == unit && rule.from_amount <= value)
    };
    let highest = rules.filter(reaches).max_by_key(|rule| (!rule.unit.is_empty(), rule.from_amount));
    highest.map_or_else(|| default_timing(role), |rule| rule.timing)
}

/// Who decides is told at once; who does not, has to ask for it.
pub fn default_timing(role: Role) -> Timing {
    if role.decides() { Timing::AtOnce } else { Timing::Never }
}

impl Notifier {
    /// A person's wishes as they are kept.
    pub async fn wishes(&self, person_id: &str) -> Result<Wishes> {
        let id = person_id.to_owned();
        self.gate.db.read(move |conn| load(conn, &id)).await
    }

    /// Puts a person's own wishes in place of those before.
    ///
    /// # Errors
    /// `invalid_params` for wishes that can't be meant; `unauthenticated`.
    pub async fn wish(&self, person: &Visitor, source: &Source, wishes: Wishes) -> Result<()> {
        self.judge(&wishes)?;
        let (clock, event) = (self.gate.clock.clone(), new_id());
        let decider = person.decider(source.clone());
        let kept = self.gate.db.write(move |conn| {
            // Alone before it is shared: two windows that save at once follow one another.
            people::lock(conn, &decider.person_id)?;
            let held = decider.hold(conn, &clock, |_| true)?;
            let now = clock.now(conn)?;
            let person = match held {
                Ok(person) => person,
                Err(denial) => {
                    let entry = Entry::denied(What::Account, decider.actor(), &decider.source, denial.code);
                    return audit::record(conn, &event, now, &entry).map(|()| Err(denial));
                }
            };
            preferences::replace(conn, &person.id, &wishes.settings, &wishes.rules)?;
            let shown = |list: &&List| **list != List::Deliveries || person.role == Role::Owner;
            for list in List::ALL.iter().filter(shown) {
                if wishes.left.contains(list) {
                    preferences::mute(conn, &person.id, *list, now)?;
                } else {
                    preferences::unmute(conn, &person.id, *list)?;
                }
            }
            let entry = Entry::new(What::Account, decider.actor(), &decider.source, "wishes_changed");
            audit::record(conn, &event, now, &entry.with("person_id", person.id.as_str())).map(Ok)
        });
        Ok(kept.await??)
    }

    fn judge(&self, wishes: &Wishes) -> Result<(), Denial> {
        if Zone::named(&wishes.settings.time_zone).is_none() {
            let sentence = "time_zone must be the name of a time zone, such as Europe/Berlin.";
            return Err(Denial::invalid("time_zone", sentence));
        }
        let minute = |minute: Option<i32>| minute.is_none_or(|minute| (0..24 * 60).contains(&minute));
        let (from, until) = (wishes.settings.quiet_from, wishes.settings.quiet_until);
        if from.is_some() != until.is_some()
            || !minute(from)
            || !minute(until)
            || (from.is_some() && from == until)
        {
            return Err(Denial::invalid(
                "quiet_from",
                "Quiet hours need a time from and another until, such as 22:00 and 07:00.",
            ));
        }
        for rule in &wishes.rules {
            if self.gate.registry.find_kind(&rule.kind).is_none() {
                return Err(Denial::invalid("kind", "There is no such kind of action."));
            }
            let of_kind = wishes.rules.iter().filter(|other| other.kind == rule.kind);
            let same = of_kind
                .clone()
                .filter(|other| other.unit == rule.unit && other.from_amount == rule.from_amount);
            if same.count() > 1 {
                return Err(Denial::invalid("amount", "An amount is named twice. Leave one of them out."));
            }
            if of_kind.count() > MOST_RULES + 1 {
                return Err(Denial::invalid(
                    "amount",
                    format!("Name at most {MOST_RULES} amounts for a kind."),
                ));
            }
        }
        Ok(())
    }
}

fn load(conn: &mut Conn, person_id: &str) -> QueryResult<Wishes> {
    let settings = preferences::settings(conn, person_id)?.unwrap_or_else(|| Settings {
        time_zone: Zone::UTC.name().to_owned(),
        quiet_from: None,
        quiet_until: None,
    });
    Ok(Wishes {
        settings,
        rules: preferences::rules(conn, person_id)?,
        left: preferences::mutes(conn, person_id)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(unit: &str, from_amount: i64, timing: Timing) -> Rule {
        Rule {
            kind: "refund".to_owned(),
            unit: unit.to_owned(),
            from_amount,
            timing,
        }
    }

    #[test]
    fn the_largest_amount_that_is_reached_decides() {
        let rules = [
            rule("", 0, Timing::Never),
            rule("INR", 10_000, Timing::Hourly),
            rule("INR", 500_000, Timing::AtOnce),
        ];
        let told = |amount| timing_of(rules.iter(), Role::Approver, amount);
        assert_eq!(told(Some((9_999, "INR"))), Timing::Never);
        assert_eq!(told(Some((10_000, "INR"))), Timing::Hourly);
        assert_eq!(told(Some((600_000, "INR"))), Timing::AtOnce);
        assert_eq!(told(Some((600_000, "EUR"))), Timing::Never);
        assert_eq!(told(None), Timing::Never);
    }

    #[test]
    fn without_a_rule_those_who_decide_are_told_at_once_and_others_not() {
        let told = |role| timing_of([].iter(), role, Some((1, "INR")));
        assert_eq!([told(Role::Owner), told(Role::Approver)], [Timing::AtOnce; 2]);
        assert_eq!([told(Role::Auditor), told(Role::Viewer)], [Timing::Never; 2]);
    }
}
