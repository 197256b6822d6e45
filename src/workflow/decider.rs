//! The person who decides, and the sign-in or token they decide with.

use crate::{
    audit::{Actor, Source},
    db::{Clock, Conn, QueryResult},
    error::{Code, Denial},
    store::{
        credentials,
        people::{self, Person, Role},
        sessions,
    },
};

/// What a person proved who they are with. Both are looked at again inside the transaction that decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Means {
    /// A browser session, by its prefix.
    Session(String),
    /// An API token, by its prefix.
    Token(String),
}

/// A person at one of the doors.
#[derive(Debug, Clone)]
pub struct Decider {
    pub person_id: String,
    pub means: Means,
    pub source: Source,
}

impl Decider {
    /// As the audit log names them.
    pub fn actor(&self) -> Actor {
        Actor::Person(self.person_id.clone())
    }

    /// Holds person and session until the transaction ends, and denies who may not, or no longer by the time they are held.
    pub fn hold(
        &self,
        conn: &mut Conn,
        clock: &Clock,
        may: impl Fn(Role) -> bool,
    ) -> QueryResult<Result<Person, Denial>> {
        let person = people::hold(conn, &self.person_id)?.filter(|person| person.enabled);
        let signed_in = match &self.means {
            Means::Session(prefix) => {
                let session = sessions::hold(conn, prefix)?;
                let now = clock.now(conn)?;
                session.is_some_and(|session| session.is_live(now) && session.person_id == self.person_id)
            }
            Means::Token(prefix) => credentials::hold(conn, prefix)?.is_some_and(|token| {
                token.revoked_at.is_none() && token.person_id.as_ref() == Some(&self.person_id)
            }),
        };
        Ok(match person {
            Some(person) if signed_in && may(person.role) => Ok(person),
            Some(_) if signed_in => Err(Denial::new(Code::Forbidden, "Your role does not allow this.")),
            _ => Err(Denial::new(Code::Unauthenticated, "You are no longer signed in. Sign in again.")),
        })
    }
}

impl Role {
    /// Whether the role approves and rejects.
    pub fn decides(self) -> bool {
        matches!(self, Self::Owner | Self::Approver)
    }
}
