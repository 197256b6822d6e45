//! Leaving a list by one click in a mail, without a session: the address carries all that is needed, and does that alone.

use super::Notifier;
use crate::{
    audit::{self, Actor, Entry, Source, What},
    auth::same_secret,
    error::{Code, Denial, Result},
    store::{
        new_id,
        people::{self, Person},
        preferences::{self, List},
    },
};

/// The page that the address opens.
pub const PATH: &str = "/unsubscribe";

/// Of an address that was cut off, or made when the server had another secret.
const NOT_OURS: &str = "This address leads to no list. Copy it whole from the mail; if the mail is an old one, sign in and choose \
                        on your account page what you are told.";

/// Who leaves what, as an address says it.
#[derive(Debug, Clone)]
pub struct Leaving {
    pub person: Person,
    pub list: List,
}

impl Notifier {
    /// The address by which a person leaves a list. It opens nothing else.
    pub fn leave_url(&self, person_id: &str, list: List) -> String {
        let token = self.leave_token(person_id, list);
        format!("{}{PATH}?person={person_id}&list={list}&token={token}", self.gate.policy.public_url)
    }

    /// Who an address means.
    ///
    /// # Errors
    /// `not_found` for one that this server did not make under its secret of today.
    pub async fn leaving(&self, person_id: &str, list: &str, token: &str) -> Result<Leaving> {
        let known = list.parse::<List>().ok();
        let genuine = known.is_some_and(|list| same_secret(&self.leave_token(person_id, list), token));
        let id = person_id.to_owned();
        let person = match known.filter(|_| genuine) {
            Some(_) => self.gate.db.read(move |conn| people::find(conn, &id)).await?,
            None => None,
        };
        match (person, known) {
            (Some(person), Some(list)) => Ok(Leaving { person, list }),
            _ => Err(Denial::new(Code::NotFound, NOT_OURS).into()),
        }
    }

    /// Takes a person off a list. Doing it twice does nothing more.
    pub async fn leave(&self, leaving: &Leaving, source: &Source) -> Result<()> {
        let (clock, source, event) = (self.gate.clock.clone(), source.clone(), new_id());
        let (person_id, list) = (leaving.person.id.clone(), leaving.list);
        let left = self.gate.db.write(move |conn| {
            let Some(person) = people::lock(conn, &person_id)? else { return Ok(()) };
            let now = clock.now(conn)?;
            if preferences::mute(conn, &person.id, list, now)? == 0 {
                return Ok(());
            }
            // Whoever has the mail can do it, so it is nobody in particular who did.
            let entry = Entry::new(What::Account, Actor::Stranger, &source, "unsubscribed");
            let entry = entry.with("person_id", person.id.as_str()).with("list", list.as_str());
            audit::record(conn, &event, now, &entry)
        });
        left.await
    }

    fn leave_token(&self, person_id: &str, list: List) -> String {
        self.secret.mac("unsubscribe", &format!("{person_id}\n{list}"))
    }
}
