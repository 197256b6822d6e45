//! `/audit`: the log, newest first, with filters; and what is shown as a file.

pub mod export;
mod told;

use askama::Template;
use askama_web::WebTemplate;
use chrono::TimeDelta;

use super::{
    asked::{Asked, Question},
    filter::{Chip, Pick},
    link::link,
    refused::Refused,
    shell::{Place, Shell},
    site::Site,
};
use crate::{
    audit::{
        Category,
        log::{self, Moment, Wanted},
    },
    auth::Visitor,
    db::Timestamp,
    error::{Denial, Error},
    query::Query,
    store::{actions, agents, events, people},
    text::{counted, filters},
    workflow::Gate,
};
use told::Row;

/// How many rows a page has.
const ROWS: i64 = 100;
/// So many events are counted.
const COUNTED: i64 = 1_000;

/// Periods to choose from: the name in the address, the label, and how many hours. What has no name is the default.
const PERIODS: [(&str, &str, Option<i64>); 5] = [
    ("hour", "Last hour", Some(1)),
    ("", "Last 24 hours", Some(24)),
    ("week", "7 days", Some(7 * 24)),
    ("month", "30 days", Some(30 * 24)),
    ("all", "All time", None),
];

/// What is asked for.
#[derive(Default, Clone)]
pub struct Choice {
    /// A name of [`PERIODS`].
    period: String,
    category: Option<Category>,
    /// Only what was refused, or only what was not.
    denied: Option<bool>,
    /// A person's e-mail address or an agent's name.
    actor: String,
    /// An action's id.
    action: String,
    /// The last event of the page before.
    before: Option<i64>,
}

#[derive(Template, WebTemplate)]
#[template(path = "audit.html")]
pub struct Page {
    shell: Shell,
    choice: Choice,
    total: String,
    periods: Vec<Chip>,
    groups: Vec<Chip>,
    actors: Vec<Pick>,
    /// The way back from one action's events to everybody's.
    any_action: Option<String>,
    rows: Vec<Row>,
    csv: String,
    jsonl: String,
    older: Option<String>,
    newest: Option<String>,
}

/// The page.
pub async fn page(site: Site, visitor: Visitor, Asked(choice): Asked<Choice>) -> Result<Page, Refused> {
    let gate = Gate::clone(&site.gate);
    let shell = Shell::load(&site, &visitor, Place::Audit).await?;
    let read = site
        .gate
        .db
        .read(move |conn| Ok((agents::all(conn)?, people::all(conn)?, gate.clock.now(conn)?)));
    let (agents, people, now) = read.await?;
    let wanted = choice.wanted(now);
    let filter = log::filter(&site.gate.db, wanted.clone()).await.map_err(not_understood)?;
    let page = log::page(&site.gate.db, wanted).await.map_err(not_understood)?;
    let ids: Vec<_> = page.events.iter().filter_map(|logged| logged.event.action_id.clone()).collect();
    let read = site
        .gate
        .db
        .read(move |conn| Ok((events::count(conn, &filter, COUNTED)?, actions::headlines(conn, &ids)?)));
    let (total, headlines) = read.await?;
    let names = agents.iter().map(|agent| &agent.name).chain(people.iter().map(|person| &person.email));
    let kind_title = |name: &str| {
        let kind = site.gate.registry.find_kind(name);
        kind.map_or_else(|| name.to_owned(), |kind| kind.spec().title.to_lowercase())
    };
    Ok(Page {
        shell,
        total: in_words(total),
        periods: choice.periods(),
        groups: choice.groups(),
        actors: names.map(|name| Pick::new(name, name, &choice.actor)).collect(),
        any_action: (!choice.action.is_empty()).then(|| choice.with(|choice| choice.action.clear())),
        rows: page.events.iter().map(|logged| Row::of(logged, &headlines, &kind_title, now)).collect(),
        csv: choice.address("/audit/export", &[("format", "csv")]),
        jsonl: choice.address("/audit/export", &[("format", "jsonl")]),
        older: page.next_cursor.map(|seq| choice.address("/audit", &[("before", &seq.to_string())])),
        newest: choice.before.is_some().then(|| choice.address("/audit", &[])),
        choice,
    })
}

fn in_words(total: i64) -> String {
    counted(total, COUNTED, "event")
}

/// The log's refusal of a person that does not exist.
fn not_understood(error: Error) -> Refused {
    Refused::from(error).in_list("/audit")
}

impl Question for Choice {
    const KNOWN: &'static [&'static str] = &["period", "category", "denied", "actor", "action", "before"];

    fn read(query: &mut Query) -> Result<Self, Denial> {
        Ok(Self {
            period: query
                .with("period", "must be one of hour, week, month, all", period)?
                .unwrap_or_default(),
            category: query.parsed("category")?,
            denied: query.flag("denied")?,
            actor: query.text("actor").unwrap_or_default(),
            action: query.id("action")?.unwrap_or_default(),
            before: query.with("before", "must be the number of an event", |text| {
                text.parse().ok().filter(|seq| *seq > 0)
            })?,
        })
    }
}

fn period(named: &str) -> Option<String> {
    PERIODS.iter().find(|(name, ..)| *name == named).map(|(name, ..)| (*name).to_owned())
}

impl Choice {
    /// The question to the log.
    fn wanted(&self, now: Timestamp) -> Wanted {
        let hours = PERIODS.iter().find(|(name, ..)| *name == self.period).and_then(|(.., hours)| *hours);
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        Wanted {
            since: hours.map(|hours| Moment(now - TimeDelta::hours(hours))),
            category: self.category,
            actor: given(&self.actor),
            action_id: given(&self.action),
            denied: self.denied,
            cursor: self.before,
            limit: ROWS,
            ..Wanted::default()
        }
    }

    /// The choice on another page: the first one, unless `more` says otherwise.
    fn address(&self, path: &str, more: &[(&str, &str)]) -> String {
        let denied = self.denied.map_or("", |denied| if denied { "true" } else { "false" });
        let own = [
            ("period", self.period.as_str()),
            ("category", self.category.map_or("", Category::as_str)),
            ("denied", denied),
            ("actor", self.actor.as_str()),
            ("action", self.action.as_str()),
        ];
        link(path, &[&own, more].concat())
    }

    fn with(&self, change: impl FnOnce(&mut Self)) -> String {
        let mut choice = self.clone();
        change(&mut choice);
        choice.address("/audit", &[])
    }

    fn periods(&self) -> Vec<Chip> {
        let chip = |(name, label, _): &(&str, &str, Option<i64>)| Chip {
            href: self.with(|choice| (*name).clone_into(&mut choice.period)),
            label: (*label).to_owned(),
            on: self.period == *name,
        };
        PERIODS.iter().map(chip).collect()
    }

    /// Each group is put on by its chip, and off again by the same.
    fn groups(&self) -> Vec<Chip> {
        let group = |category: &Category| {
            let on = self.category == Some(*category);
            Chip {
                href: self.with(|choice| choice.category = (!on).then_some(*category)),
                label: label(*category),
                on,
            }
        };
        let denied = Chip {
            href: self.with(|choice| choice.denied = choice.denied.is_none().then_some(true)),
            label: if self.denied == Some(false) { "Not denied" } else { "Denied" }.to_owned(),
            on: self.denied.is_some(),
        };
        std::iter::once(denied).chain(Category::ALL.iter().map(group)).collect()
    }
}

/// "sign_ins" as "Sign-ins".
fn label(category: Category) -> String {
    let mut label = category.as_str().replace('_', "-");
    if let Some(first) = label.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_kept_from_page_to_page() {
        let choice = Choice {
            period: "week".to_owned(),
            denied: Some(true),
            before: Some(77),
            ..Choice::default()
        };
        assert_eq!(choice.address("/audit", &[("before", "5")]), "/audit?period=week&denied=true&before=5");
        let hrefs: Vec<_> = choice.groups().into_iter().map(|chip| chip.href).collect();
        assert_eq!(hrefs[0], "/audit?period=week", "the chip that is on puts it off");
        assert_eq!(hrefs[1], "/audit?period=week&category=tools&denied=true");
        let now: Timestamp = "2026-11-29T12:00:00".parse().expect("a time");
        assert_eq!(choice.wanted(now).since, Some(Moment(now - TimeDelta::days(7))));
        assert_eq!(choice.wanted(now).cursor, Some(77));
        assert_eq!(Choice::default().wanted(now).since, Some(Moment(now - TimeDelta::days(1))));
    }

    #[test]
    fn figures_and_labels() {
        let totals = [0, 1, 999, COUNTED].map(in_words);
        assert_eq!(totals, ["0 events", "1 event", "999 events", "1,000 events or more"]);
        let labels: Vec<_> = Category::ALL.iter().map(|category| label(*category)).collect();
        assert_eq!(labels, ["Tools", "Decisions", "Sign-ins", "Accounts", "Pauses", "Upkeep"]);
    }
}
