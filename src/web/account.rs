//! `/account`: who am I, what may I do, what am I told, and where am I signed in.

pub mod mail;

use actix_web::{HttpRequest, HttpResponse, Responder, web::Form};
use askama::Template;
use askama_web::WebTemplate;

use self::mail::MailForm;
use super::{
    refused::Refused,
    shell::{Place, Shell},
    site::Site,
    way::see_other,
    when, words,
};
use crate::{
    audit::Door,
    auth::{Visitor, guard::source},
    error::Code,
    query::Query,
    store::{
        preferences::Timing,
        sessions::{self, Session},
    },
    text::filters,
    workflow::{Gate, Means},
};

/// In the address after the form was kept.
const KEPT: &str = "kept";

#[derive(Template, WebTemplate)]
#[template(path = "account.html")]
pub struct Page {
    shell: Shell,
    may: &'static str,
    since: String,
    sessions: Vec<Row>,
    mail: MailForm,
    /// Whether this server sends mail.
    mail_is_on: bool,
}

struct Row {
    since: String,
    until: String,
    address: String,
    /// The one that asks.
    this: bool,
}

/// The page.
pub async fn page(request: HttpRequest, site: Site, visitor: Visitor) -> Result<Page, Refused> {
    let kept = Query::read(request.query_string(), &[KEPT])?.text(KEPT).is_some();
    let wishes = site.notifier.wishes(&visitor.person.id).await?;
    let mail = MailForm {
        kept,
        ..MailForm::of(&wishes, &visitor.person, &site.gate.registry)
    };
    of(&site, &visitor, mail).await
}

/// `POST /account/mail`: keeps what the person wants to be told of.
pub async fn wish(
    request: HttpRequest,
    site: Site,
    visitor: Visitor,
    fields: Form<Vec<(String, String)>>,
) -> Result<HttpResponse, Refused> {
    let form = MailForm::sent(fields.into_inner(), &visitor.person, &site.gate.registry);
    let kept = match form.wishes(&visitor.person) {
        Ok(wishes) => site.notifier.wish(&visitor, &source(&request, Door::Browser), wishes).await,
        Err(denial) => Err(denial.into()),
    };
    let denial = match kept {
        Ok(()) => return Ok(see_other(&format!("/account?{KEPT}=1#mail"))),
        Err(error) => error.into_denial(),
    };
    if denial.code != Code::InvalidParams {
        return Err(denial.into());
    }
    let form = MailForm {
        refused: Some(denial.message),
        ..form
    };
    let mut response = of(&site, &visitor, form).await?.respond_to(&request);
    *response.status_mut() = super::refused::status(denial.code);
    Ok(response)
}

async fn of(site: &Site, visitor: &Visitor, mail: MailForm) -> Result<Page, Refused> {
    let shell = Shell::load(site, visitor, Place::Account).await?;
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
        mail,
        mail_is_on: site.notifier.is_on(),
    })
}
