//! `/agents`: the agents and their scopes, and the owner's pause switch.

use actix_web::{HttpRequest, HttpResponse, web::Form};
use askama::Template;
use askama_web::WebTemplate;
use serde::Deserialize;

use super::{
    refused::Refused,
    shell::{Place, Shell},
    site::Site,
    way::see_other,
    when,
};
use crate::{
    audit::Door,
    auth::{Visitor, guard::source},
    store::{
        agents::{self, Agent},
        people,
    },
    text::filters,
    workflow::PauseTarget,
};

#[derive(Template, WebTemplate)]
#[template(path = "agents.html")]
pub struct Page {
    shell: Shell,
    everything: Switch,
    kinds: Vec<Switch>,
    rows: Vec<Row>,
}

/// Something that can be paused.
struct Switch {
    target: String,
    label: String,
    /// Since when and by whom it is paused.
    paused: Option<String>,
}

struct Row {
    name: String,
    owner: String,
    scopes: Vec<String>,
    since: String,
    /// None for an agent that is revoked: there is nothing left to pause.
    switch: Option<Switch>,
    revoked: Option<String>,
}

/// What a switch's form holds.
#[derive(Deserialize)]
pub struct Switched {
    #[serde(default)]
    target: String,
}

/// The page.
pub async fn page(site: Site, visitor: Visitor) -> Result<Page, Refused> {
    let shell = Shell::load(&site, &visitor, Place::Agents).await?;
    let (agents, people) = site.gate.db.read(|conn| Ok((agents::all(conn)?, people::all(conn)?))).await?;
    let kinds = site.gate.registry.kinds().map(|kind| {
        let (name, title) = (kind.spec().name, kind.spec().title);
        Switch::of(&shell, &PauseTarget::Kind(name.to_owned()), title)
    });
    let kinds = kinds.collect();
    let email =
        |id: &String| people.iter().find(|person| person.id == *id).map(|person| person.email.clone());
    let row = |agent: &Agent| Row {
        name: agent.name.clone(),
        owner: agent.owner_id.as_ref().and_then(email).unwrap_or_else(|| "nobody".to_owned()),
        scopes: agent.scopes().map(ToOwned::to_owned).collect(),
        since: when::day(agent.created_at),
        switch: agent
            .revoked_at
            .is_none()
            .then(|| Switch::of(&shell, &PauseTarget::Agent(agent.id.clone()), &agent.name)),
        revoked: agent.revoked_at.map(when::day),
    };
    let rows = agents.iter().map(row).collect();
    Ok(Page {
        everything: Switch::of(&shell, &PauseTarget::Everything, "Everything"),
        kinds,
        rows,
        shell,
    })
}

/// `POST /pause`.
pub async fn pause(
    request: HttpRequest,
    site: Site,
    visitor: Visitor,
    switched: Form<Switched>,
) -> Result<HttpResponse, Refused> {
    switch(&request, &site, &visitor, &switched.target, true).await
}

/// `POST /resume`.
pub async fn resume(
    request: HttpRequest,
    site: Site,
    visitor: Visitor,
    switched: Form<Switched>,
) -> Result<HttpResponse, Refused> {
    switch(&request, &site, &visitor, &switched.target, false).await
}

async fn switch(
    request: &HttpRequest,
    site: &Site,
    visitor: &Visitor,
    target: &str,
    on: bool,
) -> Result<HttpResponse, Refused> {
    let owner = visitor.decider(source(request, Door::Browser));
    site.gate.set_pause(&owner, PauseTarget::from_key(target), on).await?;
    Ok(see_other("/agents"))
}

impl Switch {
    fn of(shell: &Shell, target: &PauseTarget, label: &str) -> Self {
        let target = target.key();
        let paused = shell.paused.iter().find(|paused| paused.target == target);
        Self {
            paused: paused.map(|paused| paused.since.clone()),
            label: label.to_owned(),
            target,
        }
    }
}
