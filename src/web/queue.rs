//! `/`: what waits for a decision, the most urgent first, and beside it the action that is looked at.

use askama::Template;
use askama_web::WebTemplate;

use super::{
    action::detail::Shown,
    asked::{Asked, Question},
    refused::Refused,
    shell::{Place, Shell},
    site::Site,
    when,
};
use crate::{
    auth::Visitor,
    error::{Denial, Result},
    query::Query,
    text::filters,
    workflow::{Gate, Waiting, Wanted},
};

/// What of the queue is shown.
pub struct Choice {
    /// Only this kind of action.
    pub kind: String,
}

impl Question for Choice {
    const KNOWN: &'static [&'static str] = &["kind"];

    fn read(query: &mut Query) -> Result<Self, Denial> {
        let kind = query.text("kind").unwrap_or_default();
        Ok(Self { kind })
    }
}

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
    count: usize,
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
    choice.known(&site).map_err(|denial| Refused::from(denial).in_list("/"))?;
    let shell = Shell::load(&site, &visitor, Place::Waiting).await?;
    let waiting = site.gate.waiting(None).await?;
    let first = waiting.iter().find(|one| choice.includes(one)).map(|one| one.action.id.clone());
    let shown = match &first {
        Some(id) => Some(Shown::of(site.gate.detail(id).await?, &visitor, &shell, &choice.kind)),
        None => None,
    };
    let welcome = if waiting.is_empty() { Some(Welcome::load(&site).await?) } else { None };
    Ok(Desk {
        list: List::of(&site.gate, &waiting, &choice, first.as_deref(), "/".to_owned()),
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
        let waiting = site.gate.waiting(None).await?;
        let mut shown = Shown::of(site.gate.detail(id).await?, visitor, &shell, &choice.kind);
        let list = List::of(&site.gate, &waiting, choice, Some(id), format!("/actions/{id}"));
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

impl Choice {
    /// Refuses a kind that doesn't exist.
    pub fn known(&self, site: &Site) -> Result<(), Denial> {
        site.gate.known_kind(Some(self.kind.as_str()).filter(|kind| !kind.is_empty()))
    }

    fn includes(&self, one: &Waiting) -> bool {
        self.kind.is_empty() || one.action.kind == self.kind
    }

    /// An address that keeps the choice.
    pub fn keep(&self, address: &str) -> String {
        if self.kind.is_empty() {
            return address.to_owned();
        }
        let kind: String = url::form_urlencoded::byte_serialize(self.kind.as_bytes()).collect();
        format!("{address}?kind={kind}")
    }
}

impl List {
    fn of(gate: &Gate, waiting: &[Waiting], choice: &Choice, current: Option<&str>, address: String) -> Self {
        let row = |one: &Waiting| Row {
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
        let of_kind = |name: &str| waiting.iter().filter(|one| one.action.kind == name).count();
        let all = Chip {
            href: "/".to_owned(),
            label: "All".to_owned(),
            count: waiting.len(),
            on: choice.kind.is_empty(),
        };
        let kinds = gate.registry.kinds().map(|kind| {
            let name = kind.spec().name;
            Chip {
                href: format!("/?kind={name}"),
                label: kind.spec().title.to_owned(),
                count: of_kind(name),
                on: choice.kind == name,
            }
        });
        Self {
            rows: waiting.iter().filter(|one| choice.includes(one)).map(row).collect(),
            chips: std::iter::once(all).chain(kinds.filter(|chip| chip.count > 0 || chip.on)).collect(),
            address: choice.keep(&address),
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
