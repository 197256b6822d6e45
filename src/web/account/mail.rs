//! The form in which a person says what they want to be told of: its fields as text, and what they mean.

mod sent;

use chrono::{NaiveTime, Timelike};
use iso_currency::Currency;

use crate::{
    error::Denial,
    kinds::{Amount, KindSpec, Measure, Registry},
    money,
    notify::wishes::{Wishes, default_timing},
    store::{
        people::Person,
        preferences::{List, Rule, Settings, Timing},
    },
};

/// The form, as it is shown and as it is sent.
pub struct MailForm {
    pub time_zone: String,
    /// "22:00", or empty.
    pub quiet_from: String,
    pub quiet_until: String,
    pub lists: Vec<Choice>,
    pub kinds: Vec<KindRow>,
    /// What is wrong with it.
    pub refused: Option<String>,
    /// Whether it was just kept.
    pub kept: bool,
}

/// A list that one takes part in or not.
pub struct Choice {
    pub list: List,
    pub label: String,
    pub on: bool,
}

/// When to tell of a kind.
pub struct KindRow {
    pub name: String,
    pub title: String,
    pub timing: Timing,
    /// Whether amounts name a currency.
    pub money: bool,
    /// Those from an amount on, and an empty row for one more.
    pub amounts: Vec<AmountRow>,
}

/// When to tell of a kind from an amount on. The amount is as typed; empty means none.
pub struct AmountRow {
    pub from: String,
    pub unit: String,
    pub timing: Timing,
}

impl KindRow {
    /// The name of a field for the whole kind.
    pub fn field(&self, what: &str) -> String {
        format!("{what}.{}", self.name)
    }

    /// The name of a field of one of its amounts.
    pub fn field_of(&self, what: &str, number: usize) -> String {
        format!("{what}.{}.{number}", self.name)
    }

    /// Whether an amount can be named.
    pub fn has_amounts(&self) -> bool {
        !self.amounts.is_empty()
    }
}

impl Timing {
    /// As a reader would say it.
    pub fn word(self) -> &'static str {
        match self {
            Self::AtOnce => "At once",
            Self::QuarterHourly => "Every 15 minutes",
            Self::Hourly => "Every hour",
            Self::Never => "Never",
        }
    }
}

/// The lists that concern a person.
fn lists(person: &Person) -> impl Iterator<Item = List> {
    let owns = person.role == crate::store::people::Role::Owner;
    List::ALL.iter().copied().filter(move |list| owns || *list != List::Deliveries)
}

impl MailForm {
    /// The form of the wishes that are kept.
    pub fn of(wishes: &Wishes, person: &Person, registry: &Registry) -> Self {
        let clock = |minute: Option<i32>| {
            minute.map_or_else(String::new, |minute| format!("{:02}:{:02}", minute / 60, minute % 60))
        };
        let kind = |spec: &KindSpec| {
            let mut row = KindRow::empty(spec, person);
            for rule in wishes.rules.iter().filter(|rule| rule.kind == spec.name) {
                if rule.unit.is_empty() {
                    row.timing = rule.timing;
                } else if row.has_amounts() {
                    row.amounts.insert(row.amounts.len() - 1, AmountRow::of(rule));
                }
            }
            row
        };
        Self {
            time_zone: wishes.settings.time_zone.clone(),
            quiet_from: clock(wishes.settings.quiet_from),
            quiet_until: clock(wishes.settings.quiet_until),
            lists: lists(person).map(|list| Choice::of(list, !wishes.left.contains(&list))).collect(),
            kinds: registry.kinds().map(|known| kind(known.spec())).collect(),
            refused: None,
            kept: false,
        }
    }

    /// What the form means.
    ///
    /// # Errors
    /// `invalid_params` for a field, a time or an amount that is none.
    pub fn wishes(&self, person: &Person) -> Result<Wishes, Denial> {
        if let Some(refused) = &self.refused {
            return Err(Denial::invalid("form", refused.as_str()));
        }
        let settings = Settings {
            time_zone: self.time_zone.clone(),
            quiet_from: minute("quiet_from", &self.quiet_from)?,
            quiet_until: minute("quiet_until", &self.quiet_until)?,
        };
        let mut rules = Vec::new();
        for kind in &self.kinds {
            let rule = |unit: &str, from_amount, timing| Rule {
                kind: kind.name.clone(),
                unit: unit.to_owned(),
                from_amount,
                timing,
            };
            // What the role is for anyway stays so when the role changes.
            if kind.timing != default_timing(person.role) {
                rules.push(rule("", 0, kind.timing));
            }
            for amount in kind.amounts.iter().filter(|amount| !amount.from.is_empty()) {
                rules.push(rule(&amount.unit, amount.value(kind.money)?, amount.timing));
            }
        }
        let left = self.lists.iter().filter(|choice| !choice.on).map(|choice| choice.list).collect();
        Ok(Wishes {
            settings,
            rules,
            left,
        })
    }
}

impl Choice {
    fn of(list: List, on: bool) -> Self {
        Self {
            list,
            label: capitalised(list.words()),
            on,
        }
    }
}

impl KindRow {
    fn empty(spec: &KindSpec, person: &Person) -> Self {
        let blank = |unit: &str| AmountRow {
            from: String::new(),
            unit: unit.to_owned(),
            timing: Timing::AtOnce,
        };
        Self {
            name: spec.name.to_owned(),
            title: spec.title.to_owned(),
            timing: default_timing(person.role),
            money: spec.measure == Measure::Money,
            amounts: match spec.measure {
                Measure::None => Vec::new(),
                Measure::Money => vec![blank("")],
                Measure::Pieces => vec![blank(Amount::PIECES)],
            },
        }
    }
}

impl AmountRow {
    fn of(rule: &Rule) -> Self {
        Self {
            from: if rule.unit == Amount::PIECES {
                rule.from_amount.to_string()
            } else {
                money::decimal(rule.from_amount, &rule.unit)
            },
            unit: rule.unit.clone(),
            timing: rule.timing,
        }
    }

    fn value(&self, money: bool) -> Result<i64, Denial> {
        if !money {
            let pieces = self.from.parse().ok().filter(|pieces| (0..=i64::MAX).contains(pieces));
            return pieces
                .ok_or_else(|| Denial::invalid("from", format!("{} is no number of pieces.", self.from)));
        }
        if Currency::from_code(&self.unit).is_none() {
            return Err(Denial::invalid(
                "unit",
                "Name the amount's currency by its ISO 4217 code, such as INR.",
            ));
        }
        money::parse(&self.from, &self.unit).ok_or_else(|| {
            Denial::invalid(
                "from",
                format!("{} is no amount in {}; write it like 5000 or 5000.00.", self.from, self.unit),
            )
        })
    }
}

/// With a large first letter.
fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters
        .next()
        .map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}

/// A time of day in minutes.
fn minute(field: &str, text: &str) -> Result<Option<i32>, Denial> {
    if text.is_empty() {
        return Ok(None);
    }
    // A browser sends "22:00"; chrono alone would also take signs and single figures.
    let plain = text.len() == "22:00".len() && text.bytes().all(|byte| byte == b':' || byte.is_ascii_digit());
    let read = NaiveTime::parse_from_str(text, "%H:%M").ok().filter(|_| plain);
    let read = read
        .and_then(|time| i32::try_from(time.num_seconds_from_midnight() / 60).ok())
        .ok_or_else(|| Denial::invalid(field, format!("{text} is no time of day; write it like 22:00.")))?;
    Ok(Some(read))
}
