//! `/account`: who am I, what may I do, and where am I signed in.

use askama::Template;
use askama_web::WebTemplate;

use super::{
    refused::Refused,
    shell::{Place, Shell},
    site::Site,
    when, words,
};
use crate::{
    auth::Visitor,
    store::sessions::{self, Session},
    text::filters,
    workflow::{Gate, Means},
};

#[derive(Template, WebTemplate)]
#[template(path = "account.html")]
pub struct Page {
    shell: Shell,
    may: &'static str,
    since: String,
    sessions: Vec<Row>,
}

struct Row {
    since: String,
    until: String,
    address: String,
    /// The one that asks.
    this: bool,
}

/// The page.
pub async fn page(site: Site, visitor: Visitor) -> Result<Page, Refused> {
    let shell = Shell::load(&site, &visitor, Place::Account).await?;
    let (gate, person_id) = (Gate::clone(&site.gate), visitor.person.id.clone());
    let read = site.gate.db.read(move |conn| {
        let now = gate.clock.now(conn)?;
        Ok((sessions::live(conn, &person_id, now)?, now))
    });
    let (sessions, now) = read.await?;
    let row = |session: &Session| Row {
        since: when::moment(session.created_at, now),
        until: when::moment(session.expires_at, now),
        address: session.address.clone().unwrap_or_else(|| "an unknown address".to_owned()),
        this: visitor.means == Means::Session(session.prefix.clone()),
    };
    Ok(Page {
        shell,
        may: words::role_in_full(visitor.person.role),
        since: when::day(visitor.person.created_at),
        sessions: sessions.iter().map(row).collect(),
    })
}
