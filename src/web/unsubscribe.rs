//! `/unsubscribe`: leaving a list from a mail, without signing in. Opening the page changes nothing; its button, and the
//! mail program's own (RFC 8058), take the person off that list and do nothing else.

use actix_web::{HttpRequest, web::Query};
use askama::Template;
use askama_web::WebTemplate;
use serde::Deserialize;

use super::refused::Refused;
use crate::{audit::Door, auth::guard::source, notify::Leaving, web::site::Site};

/// What the address in a mail says.
#[derive(Deserialize)]
pub struct Address {
    #[serde(default)]
    person: String,
    #[serde(default)]
    list: String,
    #[serde(default)]
    token: String,
}

#[derive(Template, WebTemplate)]
#[template(path = "unsubscribe.html")]
pub struct Page {
    /// What one gets no more of.
    list: &'static str,
    /// The address that the button posts to; none when it is done.
    action: Option<String>,
}

/// The page with the button.
pub async fn page(request: HttpRequest, site: Site, address: Query<Address>) -> Result<Page, Refused> {
    let leaving = leaving(&site, &address).await?;
    Ok(Page {
        list: leaving.list.words(),
        action: Some(request.uri().to_string()),
    })
}

/// Leaves. Whatever the body says: the address says it all.
pub async fn leave(request: HttpRequest, site: Site, address: Query<Address>) -> Result<Page, Refused> {
    let leaving = leaving(&site, &address).await?;
    site.notifier.leave(&leaving, &source(&request, Door::Browser)).await?;
    Ok(Page {
        list: leaving.list.words(),
        action: None,
    })
}

async fn leaving(site: &Site, address: &Address) -> Result<Leaving, Refused> {
    Ok(site.notifier.leaving(&address.person, &address.list, &address.token).await?)
}
