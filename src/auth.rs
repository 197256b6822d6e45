//! Who is there: passwords, sessions, API tokens and agent keys.
//!
//! Every lookup here is looked at again inside the transaction that acts on it; see [`crate::workflow::Decider`].

pub mod accounts;
mod failures;
pub mod guard;
mod limits;
mod password;
mod secret;
mod sign_in;
mod token;

use std::sync::Arc;

pub use failures::Failures;
pub use limits::SignInLimits;
pub use password::warm_up;
pub use secret::{Secret, equal as same_secret};
pub use sign_in::{SESSION_HOURS, SignedIn};
pub use token::{Issued, TokenKind};

use crate::{
    audit::{Actor, Source, What},
    db::{Clock, Db},
    error::{Code, Denial, Result},
    store::{
        agents::{self, Agent},
        credentials,
        people::{self, Person, Role},
        sessions,
    },
    workflow::{Decider, Means},
};

/// Authentication for all doors; cheap to clone.
#[derive(Clone)]
pub struct Auth {
    pub db: Db,
    pub clock: Clock,
    pub secret: Secret,
    pub limits: Arc<SignInLimits>,
    pub failures: Arc<Failures>,
}

/// A person who has proved who they are.
#[derive(Debug, Clone)]
pub struct Visitor {
    pub person: Person,
    pub means: Means,
}

impl Visitor {
    /// The visitor as one who decides.
    pub fn decider(&self, source: Source) -> Decider {
        Decider {
            person_id: self.person.id.clone(),
            means: self.means.clone(),
            source,
        }
    }
}

impl Role {
    /// Whether the role reads the audit log.
    pub fn audits(self) -> bool {
        matches!(self, Self::Owner | Self::Auditor)
    }
}

impl Auth {
    /// The person whose session a cookie names.
    ///
    /// # Errors
    /// `unauthenticated` for a wrong, ended or expired one, and for a disabled person.
    pub async fn session(&self, cookie: &str) -> Result<Visitor> {
        let presented = self.secret.present(TokenKind::Session, cookie);
        let clock = self.clock.clone();
        let found = self.db.read(move |conn| {
            let session = sessions::find(conn, presented.prefix())?;
            let genuine = presented.matches(session.as_ref().map(|session| session.mac.as_str()));
            let Some(session) = session.filter(|_| genuine) else { return Ok(None) };
            if !session.is_live(clock.now(conn)?) {
                return Ok(None);
            }
            let person = people::find(conn, &session.person_id)?.filter(|person| person.enabled);
            Ok(person.map(|person| Visitor {
                person,
                means: Means::Session(session.prefix),
            }))
        });
        found
            .await?
            .ok_or_else(|| Denial::new(Code::Unauthenticated, "You are not signed in. Sign in first.").into())
    }

    /// The person whose API token this is.
    ///
    /// # Errors
    /// `unauthenticated`, once that is recorded.
    pub async fn api_token(&self, token: &str, source: &Source) -> Result<Visitor> {
        let presented = self.secret.present(TokenKind::Person, token);
        let found = self.db.read(move |conn| {
            let found = credentials::find(conn, presented.prefix())?;
            let genuine = presented.matches(found.as_ref().map(|found| found.mac.as_str()));
            let owned = found.and_then(|found| Some((found.person_id.clone()?, found)));
            let Some((person_id, found)) = owned else { return Ok(Err(None)) };
            let good = genuine && found.revoked_at.is_none();
            let person = people::find(conn, &person_id)?.filter(|person| good && person.enabled);
            Ok(person.ok_or(Some(person_id)).map(|person| Visitor {
                person,
                means: Means::Token(found.prefix),
            }))
        });
        match found.await? {
            Ok(visitor) => Ok(visitor),
            Err(owner) => {
                let actor = owner.map_or(Actor::Stranger, Actor::Person);
                self.failed(What::Authentication, actor, source, Code::Unauthenticated).await?;
                Err(Denial::new(Code::Unauthenticated, "The API token is not valid.").into())
            }
        }
    }

    /// The agent whose key this is.
    ///
    /// # Errors
    /// `unauthenticated`, once that is recorded.
    pub async fn agent_key(&self, key: &str, source: &Source) -> Result<Agent> {
        let presented = self.secret.present(TokenKind::Agent, key);
        let found = self.db.read(move |conn| {
            let found = credentials::find(conn, presented.prefix())?;
            let genuine = presented.matches(found.as_ref().map(|found| found.mac.as_str()));
            let owned = found.and_then(|found| Some((found.agent_id.clone()?, found)));
            let Some((agent_id, found)) = owned else { return Ok(Err(None)) };
            let good = genuine && found.revoked_at.is_none();
            let agent = agents::find(conn, &agent_id)?.filter(|agent| good && agent.revoked_at.is_none());
            Ok(agent.ok_or(Some(agent_id)))
        });
        match found.await? {
            Ok(agent) => Ok(agent),
            Err(owner) => {
                let actor = owner.map_or(Actor::Stranger, Actor::Agent);
                self.failed(What::Authentication, actor, source, Code::Unauthenticated).await?;
                Err(Denial::new(Code::Unauthenticated, "The agent key is not valid.").into())
            }
        }
    }

    /// The token that a form of this session must carry.
    pub fn form_token(&self, means: &Means) -> String {
        match means {
            Means::Session(prefix) | Means::Token(prefix) => self.secret.mac("form", prefix),
        }
    }
}
