//! Who is there: passwords, sessions, API tokens and agent keys.
//!
//! Every lookup here is looked at again inside the transaction that acts on it; see [`crate::workflow::Decider`].

pub mod accounts;
mod failures;
pub mod guard;
mod limits;
mod password;
mod secret;
mod secret_mark;
mod sign_in;
mod token;

use std::sync::Arc;

pub use failures::Failures;
pub use limits::SignInLimits;
pub use secret::{Secret, equal as same_secret};
pub use secret_mark::{Standing, Worth};
pub use sign_in::{SESSION_HOURS, SignedIn};
pub use token::{Issued, TokenKind};

use crate::{
    audit::{Actor, Source, What},
    db::{Clock, Conn, Db, QueryResult},
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
        let found = self.db.look_up(move |conn| {
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
        let enabled = |conn: &mut Conn, id: &str| Ok(people::find(conn, id)?.filter(|person| person.enabled));
        let (person, prefix) = self.holder(TokenKind::Person, token, source, enabled).await?;
        Ok(Visitor {
            person,
            means: Means::Token(prefix),
        })
    }

    /// The agent whose key this is, and the key's prefix.
    ///
    /// # Errors
    /// `unauthenticated`, once that is recorded.
    pub async fn agent_key(&self, key: &str, source: &Source) -> Result<(Agent, String)> {
        let active = |conn: &mut Conn, id: &str| {
            Ok(agents::find(conn, id)?.filter(|agent| agent.revoked_at.is_none()))
        };
        self.holder(TokenKind::Agent, key, source, active).await
    }

    /// Who holds a key or token, as `find` reads those who may come in, and the prefix of its row.
    async fn holder<T: Send + 'static>(
        &self,
        kind: TokenKind,
        text: &str,
        source: &Source,
        find: fn(&mut Conn, &str) -> QueryResult<Option<T>>,
    ) -> Result<(T, String)> {
        let (name, actor): (_, fn(String) -> Actor) = match kind {
            TokenKind::Agent => ("agent key", Actor::Agent),
            TokenKind::Person | TokenKind::Session => ("API token", Actor::Person),
        };
        let presented = self.secret.present(kind, text);
        let found = self.db.look_up(move |conn| {
            let stored = credentials::find(conn, presented.prefix())?;
            let genuine = presented.matches(stored.as_ref().map(|stored| stored.mac.as_str()));
            let Some(stored) = stored else { return Ok(Err(None)) };
            let owner = if kind == TokenKind::Agent { stored.agent_id } else { stored.person_id };
            let Some(id) = owner else { return Ok(Err(None)) };
            let good = genuine && stored.revoked_at.is_none();
            let holder = find(conn, &id)?.filter(|_| good);
            Ok(holder.map(|holder| (holder, stored.prefix)).ok_or(Some(id)))
        });
        match found.await? {
            Ok(held) => Ok(held),
            Err(owner) => {
                let actor = owner.map_or(Actor::Stranger, actor);
                self.failed(What::Authentication, actor, source, Code::Unauthenticated).await?;
                Err(Denial::new(Code::Unauthenticated, format!("The {name} is not valid.")).into())
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
