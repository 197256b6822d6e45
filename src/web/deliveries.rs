//! `/deliveries`: how telling people goes: what waits, what was sent, what failed and why, and what was given up.

use actix_web::{HttpRequest, HttpResponse, web::Path};
use askama::Template;
use askama_web::WebTemplate;

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
    db::Timestamp,
    notify::{Bundle, Delivery, LISTED},
    store::outbox::{Health, State},
    text::filters,
};

#[derive(Template, WebTemplate)]
#[template(path = "deliveries.html")]
pub struct Page {
    shell: Shell,
    is_on: bool,
    health: Health,
    /// "since 10:41", while something is due.
    overdue: Option<String>,
    rows: Vec<Row>,
    /// How many of a state are listed, where there may be more.
    listed: Option<usize>,
}

struct Row {
    id: String,
    to: String,
    /// "3 requests".
    what: String,
    /// The one action it tells of.
    action_id: Option<String>,
    state: State,
    /// "Waiting", "Will be tried again", …
    word: &'static str,
    /// When that was, or will be.
    at: String,
    attempts: i64,
    /// What went wrong at the last try.
    error: Option<String>,
}

/// The page.
pub async fn page(site: Site, visitor: Visitor) -> Result<Page, Refused> {
    let shell = Shell::load(&site, &visitor, Place::Deliveries).await?;
    let delivering = site.notifier.delivering().await?;
    let now = delivering.now;
    Ok(Page {
        shell,
        is_on: site.notifier.is_on(),
        overdue: delivering.health.oldest_due.map(|due| when::short(due, now)),
        listed: is_cut(&delivering.messages).then_some(LISTED),
        health: delivering.health,
        rows: delivering.messages.iter().map(|delivery| Row::of(delivery, now)).collect(),
    })
}

/// `POST /deliveries/{id}/retry`: has a message that was given up tried again.
pub async fn retry(
    request: HttpRequest,
    site: Site,
    visitor: Visitor,
    id: Path<String>,
) -> Result<HttpResponse, Refused> {
    site.notifier.try_again(&visitor, &source(&request, Door::Browser), &id).await?;
    Ok(see_other("/deliveries"))
}

/// `POST /deliveries/retry`: has all of them tried again.
pub async fn retry_all(request: HttpRequest, site: Site, visitor: Visitor) -> Result<HttpResponse, Refused> {
    site.notifier.try_all_again(&visitor, &source(&request, Door::Browser)).await?;
    Ok(see_other("/deliveries"))
}

impl Row {
    fn of(delivery: &Delivery, now: Timestamp) -> Self {
        let message = &delivery.message;
        let word = match message.status {
            State::Waiting if message.lease.is_some() => "Under way",
            State::Waiting if message.last_error.is_some() => "Will be tried again",
            State::Waiting => "Waiting",
            State::Sent => "Sent",
            State::Dead => "Given up",
            State::Dropped => "Not needed",
        };
        let count = delivery.contents.as_ref().map_or(0, |contents| contents.count);
        let only = delivery.contents.as_ref().filter(|_| count == 1);
        let action_id = only.and_then(|contents| contents.action_id.clone());
        Self {
            id: message.id.clone(),
            to: delivery.to.email.clone(),
            what: what(&message.bundle, count),
            action_id,
            state: message.status,
            word,
            at: when::short(message.ended_at.unwrap_or(message.due_at), now),
            attempts: message.attempts,
            error: message.last_error.clone(),
        }
    }
}

/// Whether of a state as many are listed as can be.
fn is_cut(messages: &[Delivery]) -> bool {
    let in_state = |state| messages.iter().filter(|delivery| delivery.message.status == state).count();
    State::ALL.iter().any(|state| in_state(*state) >= LISTED)
}

fn what(bundle: &str, count: i64) -> String {
    let (one, many) = match bundle.parse() {
        Ok(Bundle::AtOnce | Bundle::Digest) => ("A request", "requests"),
        Ok(Bundle::Reminders) => ("A reminder", "reminders"),
        Ok(Bundle::Expired) => ("A request nobody decided", "requests nobody decided"),
        Ok(Bundle::Outcomes) => ("A decision", "decisions"),
        Ok(Bundle::Undelivered) => ("A mail that was given up", "mails that were given up"),
        Ok(Bundle::SignIns) => ("A sign-in from a new place", "sign-ins from new places"),
        Ok(Bundle::Passwords) => ("A new password", "new passwords"),
        Err(_) => ("A message", "messages"),
    };
    match count {
        1 => one.to_owned(),
        many_of => format!("{many_of} {many}"),
    }
}
