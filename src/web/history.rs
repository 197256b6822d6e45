//! `/actions`: every action, newest first.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use askama_web::WebTemplate;

use super::{
    asked::{Asked, Question},
    filter::{Chip, Pick},
    link::link,
    refused::Refused,
    shell::{Place, Shell},
    site::Site,
    when,
};
use crate::{
    auth::Visitor,
    db::Timestamp,
    error::Denial,
    query::Query,
    store::{actions::Status, agents, people},
    text::filters,
    workflow::{Gate, Named, Wanted, wording},
};

/// How many rows a page has.
const ROWS: i64 = 50;

/// What is asked for.
pub struct Choice {
    status: Option<Status>,
    kind: String,
    /// By name.
    agent: String,
    /// The last action of the page before.
    before: Option<String>,
}

#[derive(Template, WebTemplate)]
#[template(path = "history.html")]
pub struct Page {
    shell: Shell,
    chips: Vec<Chip>,
    kinds: Vec<Pick>,
    agents: Vec<Pick>,
    status: &'static str,
    rows: Vec<Row>,
    older: Option<String>,
    /// Whether this is not the first page.
    newest: Option<String>,
}

struct Row {
    href: String,
    summary: String,
    status: &'static str,
    status_word: &'static str,
    agent: String,
    asked: String,
    decided: String,
}

/// The page.
pub async fn page(site: Site, visitor: Visitor, Asked(choice): Asked<Choice>) -> Result<Page, Refused> {
    let shell = Shell::load(&site, &visitor, Place::History).await?;
    let listed = site
        .gate
        .listed(choice.wanted())
        .await
        .map_err(|error| Refused::from(error).in_list("/actions"))?;
    let gate = Gate::clone(&site.gate);
    let deciders: BTreeSet<_> = listed.rows.iter().filter_map(|one| one.action.decided_by.clone()).collect();
    let read = site.gate.db.read(move |conn| {
        Ok((agents::all(conn)?, people::emails(conn, deciders.clone())?, gate.clock.now(conn)?))
    });
    let (agents, emails, now) = read.await?;
    let kinds = site.gate.registry.kinds().map(|kind| kind.spec());
    Ok(Page {
        shell,
        chips: choice.chips(),
        kinds: kinds.map(|kind| Pick::new(kind.name, kind.title, &choice.kind)).collect(),
        agents: agents.iter().map(|agent| Pick::new(&agent.name, &agent.name, &choice.agent)).collect(),
        older: listed.next_cursor.map(|last| choice.page(&last)),
        newest: choice.before.is_some().then(|| choice.page("")),
        rows: listed.rows.iter().map(|one| Row::of(one, &emails, now)).collect(),
        status: choice.status(),
    })
}

impl Question for Choice {
    const KNOWN: &'static [&'static str] = &["status", "kind", "agent", "before"];

    fn read(query: &mut Query) -> Result<Self, Denial> {
        Ok(Self {
            status: query.parsed("status")?,
            kind: query.text("kind").unwrap_or_default(),
            agent: query.text("agent").unwrap_or_default(),
            before: query.id("before")?,
        })
    }
}

impl Choice {
    fn wanted(&self) -> Wanted {
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        Wanted {
            status: self.status,
            kind: given(&self.kind),
            agent: given(&self.agent),
            cursor: self.before.clone(),
            limit: ROWS,
            ..Wanted::default()
        }
    }

    fn status(&self) -> &'static str {
        self.status.map_or("", Status::as_str)
    }

    fn page(&self, before: &str) -> String {
        let parameters = [
            ("status", self.status()),
            ("kind", self.kind.as_str()),
            ("agent", self.agent.as_str()),
            ("before", before),
        ];
        link("/actions", &parameters)
    }

    fn chips(&self) -> Vec<Chip> {
        let chip = |value: &str, label: &str| Chip {
            href: link("/actions", &[("status", value), ("kind", &self.kind), ("agent", &self.agent)]),
            label: label.to_owned(),
            on: self.status() == value,
        };
        // Effects outside the database, and with them these two, come with a later kind.
        let told = |status: &&Status| !matches!(status, Status::Executing | Status::Indeterminate);
        let statuses = Status::ALL.iter().filter(told);
        std::iter::once(chip("", "All"))
            .chain(statuses.map(|status| chip(status.as_str(), wording::status(*status))))
            .collect()
    }
}

impl Row {
    fn of(one: &Named, emails: &BTreeMap<String, String>, now: Timestamp) -> Self {
        let decider = one.action.decided_by.as_ref().and_then(|id| emails.get(id));
        let ended = one.action.decided_at.map(|at| when::short(at, now));
        Self {
            href: format!("/actions/{}", one.action.id),
            summary: one.action.summary.clone(),
            status: one.status.as_str(),
            status_word: wording::status(one.status),
            agent: one.agent.clone(),
            asked: when::short(one.action.requested_at, now),
            decided: match (ended, decider) {
                (Some(at), Some(by)) => format!("{at} by {by}"),
                (Some(at), None) => at,
                (None, _) if one.status == Status::Pending => when::left(one.left),
                (None, _) => String::new(),
            },
        }
    }
}
