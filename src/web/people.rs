//! `/people`: the human accounts, to read. The command line changes them.

use askama::Template;
use askama_web::WebTemplate;

use super::{
    refused::Refused,
    shell::{Place, Shell},
    site::Site,
    when, words,
};
use crate::{auth::Visitor, store::people, text::filters};

#[derive(Template, WebTemplate)]
#[template(path = "people.html")]
pub struct Page {
    shell: Shell,
    rows: Vec<Row>,
}

struct Row {
    email: String,
    role: &'static str,
    may: &'static str,
    since: String,
    enabled: bool,
}

/// The page.
pub async fn page(site: Site, visitor: Visitor) -> Result<Page, Refused> {
    let shell = Shell::load(&site, &visitor, Place::People).await?;
    let people = site.gate.db.read(people::all).await?;
    let row = |person: people::Person| Row {
        role: words::role(person.role),
        may: words::role_in_full(person.role),
        since: when::day(person.created_at),
        enabled: person.enabled,
        email: person.email,
    };
    Ok(Page {
        shell,
        rows: people.into_iter().map(row).collect(),
    })
}
