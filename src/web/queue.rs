//! `/`: what waits for a decision, the most urgent first, and beside it the action that is looked at.

use askama::Template;
use askama_web::WebTemplate;

use super::{
    action::detail::Shown,
    asked::Asked,
    choice::Choice,
    link::link,
    refused::Refused,
    shell::{Place, Shell},
    site::Site,
    when,
};
use crate::{
    auth::Visitor,
    error::{Denial, Result},
    text::filters,
    workflow::{Gate, Named, Queue, Wanted},
};

/// The queue and one action: the page on which people decide.
#[derive(Template, WebTemplate)]
#[template(path = "queue.html")]
pub struct Desk {
    shell: Shell,
    list: List,
    shown: Option<Shown>,
    /// How to make the first request; only while there is nothing to decide.
    welcome: Option<Welcome>,
    /// On a phone, which has room for one: whether that is the list.
    list_first: bool,
}

/// What waits, as the list shows it.
struct List {
    rows: Vec<Row>,
    chips: Vec<Chip>,
    older: Option<String>,
    newest: Option<String>,
    /// The address of this page, to be asked again.
    address: String,
}

struct Row {
    href: String,
    headline: String,
    figure: String,
    agent: String,
    reason: String,
    left: String,
    left_seconds: i64,
    soon: bool,
    current: bool,
}

/// A filter, with how many rows it leaves.
struct Chip {
    href: String,
    label: String,
    count: i64,
    on: bool,
}

struct Welcome {
    /// Whether no agent has ever asked for anything.
    first: bool,
    public_url: String,
    kinds: String,
}

/// The queue.
pub async fn page(site: Site, visitor: Visitor, Asked(choice): Asked<Choice>) -> Result<Desk, Refused> {
    let shell = Shell::load(&site, &visitor, Place::Waiting).await?;
    let queue = choice.queue(&site.gate).await.map_err(|error| Refused::from(error).in_list("/"))?;
    let first = queue.rows.first().map(|one| one.action.id.clone());
    let shown = match &first {
        Some(id) => {
            let (detail, story) = site.gate.detail_and_story(id).await?;
            Some(Shown::of(&detail, story, &visitor, &shell, &choice))
        }
        None => None,
    };
    let welcome = if queue.total() == 0 { Some(Welcome::load(&site).await?) } else { None };
    Ok(Desk {
        list: List::of(&site.gate, &queue, &choice, first.as_deref(), "/"),
        shell,
        shown,
        welcome,
        list_first: true,
    })
}

impl Desk {
    /// The page of one action, with the queue beside it.
    pub async fn at(site: &Site, visitor: &Visitor, choice: &Choice, id: &str) -> Result<Self> {
        let shell = Shell::load(site, visitor, Place::Waiting).await?;
        let queue = choice.queue(&site.gate).await?;
        let (detail, story) = site.gate.detail_and_story(id).await?;
        let mut shown = Shown::of(&detail, story, visitor, &shell, choice);
        let list = List::of(&site.gate, &queue, choice, Some(id), &format!("/actions/{id}"));
        let next = list.rows.iter().find(|row| !row.current);
        shown.next = next.map(|row| (row.href.clone(), row.headline.clone()));
        Ok(Self {
            shell,
            list,
            shown: Some(shown),
            welcome: None,
            list_first: false,
        })
    }

    /// The same page after a decision that did not come about: what stood in the way, what was typed, and the form anew.
    #[must_use]
    pub fn refused(mut self, denial: Denial, note: String, acknowledged: String) -> Self {
        if let Some(shown) = &mut self.shown {
            shown.refuse(denial, note, acknowledged);
        }
        self
    }
}

impl List {
    fn of(gate: &Gate, queue: &Queue, choice: &Choice, current: Option<&str>, address: &str) -> Self {
        let row = |one: &Named| Row {
            href: choice.keep(&format!("/actions/{}", one.action.id)),
            headline: one.action.headline.clone(),
            figure: one.action.figure.clone(),
            agent: one.agent.clone(),
            reason: one.action.reason.clone(),
            left: when::left(one.left),
            left_seconds: one.left.num_seconds(),
            soon: when::is_soon(one.left),
            current: current == Some(one.action.id.as_str()),
        };
        let all = Chip {
            href: "/".to_owned(),
            label: "All".to_owned(),
            count: queue.total(),
            on: choice.kind.is_none(),
        };
        let kinds = gate.registry.kinds().map(|kind| {
            let name = kind.spec().name;
            Chip {
                href: link("/", &[("kind", name)]),
                label: kind.spec().title.to_owned(),
                count: queue.by_kind.get(name).copied().unwrap_or_default(),
                on: choice.kind.as_deref() == Some(name),
            }
        });
        Self {
            rows: queue.rows.iter().map(row).collect(),
            chips: std::iter::once(all).chain(kinds.filter(|chip| chip.count > 0 || chip.on)).collect(),
            older: queue.next.clone().map(|last| choice.page(Some(last))),
            newest: choice.after.is_some().then(|| choice.page(None)),
            address: choice.keep(address),
        }
    }
}

impl Welcome {
    async fn load(site: &Site) -> Result<Self> {
        let any = Wanted {
            limit: 1,
            ..Wanted::default()
        };
        let titles: Vec<_> =
            site.gate.registry.kinds().map(|kind| kind.spec().title.to_lowercase()).collect();
        Ok(Self {
            first: site.gate.listed(any).await?.rows.is_empty(),
            public_url: site.config.public_url().origin().ascii_serialization(),
            kinds: titles.join(", "),
        })
    }
}
