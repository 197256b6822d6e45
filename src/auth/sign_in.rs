//! Signing in and out of the dashboard.

use chrono::TimeDelta;

use super::{Auth, TokenKind, Visitor, accounts::fold_email, failures::Typed, password};
use crate::{
    audit::{self, Actor, Entry, Source, What},
    db::{Conn, QueryResult},
    error::{Code, Denial, Error, Result},
    store::{
        new_id,
        notices::{self, Notice, Topic},
        people::{self, Person},
        sessions::{self, Session},
    },
    workflow::Means,
};

/// How long a sign-in lasts.
pub const SESSION_HOURS: i64 = 12;

/// A fresh session.
pub struct SignedIn {
    /// The cookie's value; known to the browser alone.
    pub cookie: String,
    pub person: Person,
}

impl Auth {
    /// Signs a person in.
    ///
    /// # Errors
    /// `rate_limited`; `unauthenticated`, with one sentence for an unknown account, a wrong password and a disabled
    /// person, after the same time.
    pub async fn sign_in(&self, email: &str, password: &str, source: &Source) -> Result<SignedIn> {
        let email = fold_email(email);
        if let Err(denial) = self.limits.take(&email, source) {
            self.failed(What::SignIn, Actor::Stranger, source, Code::RateLimited).await?;
            return Err(denial.into());
        }
        let typed = Typed::of(&email);
        let person = self.db.read(move |conn| people::by_email(conn, &email)).await?;
        let hash = person.as_ref().map(|person| person.password_hash.clone());
        let verified = if password.len() <= password::MAX_BYTES {
            password::verify(password, hash).await
        } else {
            Ok(false)
        };
        let genuine = match verified {
            Err(Error::Denied(denial)) => {
                self.failed_as(typed, What::SignIn, Actor::Stranger, source, denial.code).await?;
                return Err(denial.into());
            }
            verified => verified?,
        };
        let signed_in = match person.as_ref().filter(|person| genuine && person.enabled) {
            Some(person) => self.open_session(person, source).await?,
            None => None,
        };
        match signed_in {
            Some(signed_in) => Ok(signed_in),
            None => {
                let actor = person.map_or(Actor::Stranger, |person| Actor::Person(person.id));
                self.failed_as(typed, What::SignIn, actor, source, Code::Unauthenticated).await?;
                Err(Denial::new(Code::Unauthenticated, "E-mail address or password is not right.").into())
            }
        }
    }

    /// Ends the visitor's session at once.
    pub async fn sign_out(&self, visitor: &Visitor, source: &Source) -> Result<()> {
        let Means::Session(prefix) = visitor.means.clone() else { return Ok(()) };
        let (clock, source, event) = (self.clock.clone(), source.clone(), new_id());
        let actor = Actor::Person(visitor.person.id.clone());
        let ended = self.db.write(move |conn| {
            let now = clock.now(conn)?;
            if sessions::end(conn, &prefix, now)? == 1 {
                audit::record(conn, &event, now, &Entry::new(What::SignOut, actor.clone(), &source, "done"))?;
            }
            Ok(())
        });
        ended.await
    }

    /// `None` when the person changed while the password was being verified.
    async fn open_session(&self, person: &Person, source: &Source) -> Result<Option<SignedIn>> {
        let issued = self.secret.issue(TokenKind::Session);
        let (clock, source, event) = (self.clock.clone(), source.clone(), new_id());
        let (seen, prefix, mac) = (person.clone(), issued.prefix, issued.mac);
        let opened = self.db.write(move |conn| {
            let person = people::hold(conn, &seen.id)?;
            let now = clock.now(conn)?;
            let same = |person: &Person| person.enabled && person.password_hash == seen.password_hash;
            let Some(person) = person.filter(same) else { return Ok(None) };
            let session = Session {
                prefix: prefix.clone(),
                mac: mac.clone(),
                person_id: person.id.clone(),
                address: source.address.clone(),
                created_at: now,
                expires_at: now + TimeDelta::hours(SESSION_HOURS),
                ended_at: None,
                lock_no: 0,
            };
            if is_new_place(conn, &person, &source)? {
                let address = source.address.as_deref().unwrap_or_default();
                notices::insert(conn, &Notice::of_person(&event, Topic::SignedIn, &person.id, address, now))?;
            }
            sessions::insert(conn, &session)?;
            let actor = Actor::Person(person.id.clone());
            audit::record(conn, &event, now, &Entry::new(What::SignIn, actor, &source, "done"))?;
            Ok(Some(person))
        });
        Ok(opened.await?.map(|person| SignedIn {
            cookie: issued.text,
            person,
        }))
    }
}

/// Whether a person has never signed in from this network before.
fn is_new_place(conn: &mut Conn, person: &Person, source: &Source) -> QueryResult<bool> {
    let network = source.network();
    let before = sessions::addresses(conn, &person.id)?;
    Ok(!before.into_iter().any(|address| {
        let before = Source {
            address: Some(address),
            ..source.clone()
        };
        before.network() == network
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        auth::Secret,
        db::{Clock, Db},
        store::events::{self, Filter},
    };

    #[tokio::test]
    async fn who_is_refused_because_of_others_is_in_the_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite://{}/test.db", folder.path().display());
        let auth = Auth {
            db: Db::open(&url.parse().expect("a URL")).expect("pools"),
            clock: Clock::default(),
            secret: Secret::new("0f1e2d3c4b5a69788796a5b4c3d2e1f0").expect("long enough"),
            failures: std::sync::Arc::default(),
            limits: std::sync::Arc::default(),
        };
        auth.db.migrate().await.expect("migrations");
        let _others = password::keep_busy().await;
        let refused = auth.sign_in("ana@example.com", "guess", &Source::INTERNAL).await;
        assert!(matches!(refused, Err(Error::Denied(denial)) if denial.code == Code::RateLimited));
        let everything = Filter {
            limit: 10,
            ..Filter::default()
        };
        let events = auth.db.read(move |conn| events::page(conn, &everything)).await.expect("events");
        let told: Vec<_> =
            events.iter().map(|event| (event.event.as_str(), event.outcome.as_str())).collect();
        assert_eq!(told, [("sign_in", "rate_limited")]);
    }
}
