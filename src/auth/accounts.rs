//! Accounts and keys: made, changed and ended, each change with its event.

use std::sync::Arc;

use super::{Auth, TokenKind, password};
use crate::{
    audit::{self, Actor, Entry, Source, What},
    db::{Conn, QueryResult, Timestamp, is_duplicate},
    error::{Code, Denial, Result},
    store::{
        agents::{self, Agent},
        credentials::{self, Credential},
        new_id,
        people::{self, Person, Role},
        sessions,
    },
};

/// A new person, with what is shown once.
pub struct NewPerson {
    pub person: Person,
    pub password: String,
    pub api_token: String,
}

/// A new agent, with the key that is shown once.
pub struct NewAgent {
    pub agent: Agent,
    pub key: String,
}

/// E-mail addresses are compared in lower case, without white space around them.
pub fn fold_email(email: &str) -> String {
    email.trim().to_lowercase()
}

impl Auth {
    /// Adds a person with a generated password and an API token.
    ///
    /// # Errors
    /// `invalid_params` for an address that is none, or is taken.
    pub async fn add_person(&self, email: &str, role: Role) -> Result<NewPerson> {
        let email = fold_email(email);
        let plausible = email.len() <= 254
            && !email.chars().any(|c| c.is_whitespace() || c.is_control())
            && email.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty());
        if !plausible {
            return Err(Denial::invalid("email", "That is not an e-mail address.").into());
        }
        let password = password::generate();
        let hash = password::hash(&password).await?;
        let token = self.secret.issue(TokenKind::Person);
        let (prefix, mac, id) = (token.prefix, token.mac, new_id());
        let added = self.change(move |conn, now| {
            if people::by_email(conn, &email)?.is_some() {
                return Ok(Err(Denial::invalid("email", format!("There is already a person {email}."))));
            }
            let person = Person {
                id: id.clone(),
                email: email.clone(),
                role,
                password_hash: hash.clone(),
                enabled: true,
                created_at: now,
                lock_no: 0,
            };
            people::insert(conn, &person)?;
            credentials::insert(conn, &of_person(&id, &prefix, &mac, now))?;
            Ok(Ok((
                person,
                account("person_added").with("person_id", id.as_str()).with("role", role.as_str()),
            )))
        });
        Ok(NewPerson {
            person: added.await?,
            password,
            api_token: token.text,
        })
    }

    /// Gives a person another role and ends their sessions; their API token is judged by the new role at once.
    pub async fn set_role(&self, email: &str, role: Role) -> Result<Person> {
        let email = fold_email(email);
        let changed = self.change(move |conn, now| {
            let Some(person) = people::by_email(conn, &email)? else {
                return Ok(Err(no_person()));
            };
            people::set_role(conn, &person.id, role)?;
            sessions::end_all(conn, &person.id, now)?;
            let entry = account("role_changed").with("person_id", person.id.as_str());
            let entry = entry.with("role", role.as_str()).with("was", person.role.as_str());
            Ok(Ok((Person { role, ..person }, entry)))
        });
        changed.await
    }

    /// Disables a person: sessions and tokens end at once.
    pub async fn disable(&self, email: &str) -> Result<Person> {
        let email = fold_email(email);
        let changed = self.change(move |conn, now| {
            let Some(person) = people::by_email(conn, &email)? else {
                return Ok(Err(no_person()));
            };
            people::set_enabled(conn, &person.id, false)?;
            sessions::end_all(conn, &person.id, now)?;
            credentials::revoke_person(conn, &person.id, now)?;
            let entry = account("person_disabled").with("person_id", person.id.as_str());
            Ok(Ok((
                Person {
                    enabled: false,
                    ..person
                },
                entry,
            )))
        });
        changed.await
    }

    /// Gives a person a new password and a new API token, and ends what the old ones opened. Enables a disabled person.
    pub async fn reset_password(&self, email: &str) -> Result<NewPerson> {
        let email = fold_email(email);
        let password = password::generate();
        let hash = password::hash(&password).await?;
        let token = self.secret.issue(TokenKind::Person);
        let (prefix, mac) = (token.prefix, token.mac);
        let changed = self.change(move |conn, now| {
            let Some(person) = people::by_email(conn, &email)? else {
                return Ok(Err(no_person()));
            };
            people::set_password_hash(conn, &person.id, &hash)?;
            people::set_enabled(conn, &person.id, true)?;
            sessions::end_all(conn, &person.id, now)?;
            credentials::revoke_person(conn, &person.id, now)?;
            credentials::insert(conn, &of_person(&person.id, &prefix, &mac, now))?;
            let entry = account("password_reset").with("person_id", person.id.as_str());
            Ok(Ok((
                Person {
                    enabled: true,
                    ..person
                },
                entry,
            )))
        });
        Ok(NewPerson {
            person: changed.await?,
            password,
            api_token: token.text,
        })
    }

    /// Adds an agent that belongs to a person: the one named, or else the first owner.
    ///
    /// # Errors
    /// `invalid_params` for a bad or taken name, an unknown scope or person. `known_scopes` are the registry's.
    pub async fn add_agent(
        &self,
        name: &str,
        scopes: &[String],
        owner: Option<&str>,
        known_scopes: &[&str],
    ) -> Result<NewAgent> {
        let scopes = joined(scopes, known_scopes)?;
        let name = name.trim().to_owned();
        if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
            return Err(Denial::invalid("name", "A name has 1 to 64 printable characters.").into());
        }
        let key = self.secret.issue(TokenKind::Agent);
        let (prefix, mac, id, owner) = (key.prefix, key.mac, new_id(), owner.map(fold_email));
        let added = self.change(move |conn, now| {
            if agents::by_name(conn, &name)?.is_some() {
                return Ok(Err(Denial::invalid("name", format!("There is already an agent {name}."))));
            }
            let owner_id = match &owner {
                Some(email) => match people::by_email(conn, email)? {
                    Some(person) => Some(person.id),
                    None => return Ok(Err(no_person())),
                },
                None => people::first_owner(conn)?.map(|person| person.id),
            };
            let agent = Agent {
                id: id.clone(),
                name: name.clone(),
                owner_id,
                scopes: scopes.clone(),
                created_at: now,
                revoked_at: None,
                lock_no: 0,
            };
            agents::insert(conn, &agent)?;
            credentials::insert(conn, &of_agent(&id, &prefix, &mac, now))?;
            Ok(Ok((
                agent,
                account("agent_added").with("agent_id", id.as_str()).with("scopes", scopes.as_str()),
            )))
        });
        Ok(NewAgent {
            agent: added.await?,
            key: key.text,
        })
    }

    /// Replaces an agent's scopes.
    pub async fn set_scopes(&self, name: &str, scopes: &[String], known_scopes: &[&str]) -> Result<Agent> {
        let (name, scopes) = (name.to_owned(), joined(scopes, known_scopes)?);
        let changed = self.change(move |conn, _| {
            let Some(agent) = agents::by_name(conn, &name)? else {
                return Ok(Err(no_agent()));
            };
            agents::set_scopes(conn, &agent.id, &scopes)?;
            let entry = account("scopes_changed").with("agent_id", agent.id.as_str());
            let entry = entry.with("scopes", scopes.as_str()).with("was", agent.scopes.as_str());
            Ok(Ok((
                Agent {
                    scopes: scopes.clone(),
                    ..agent
                },
                entry,
            )))
        });
        changed.await
    }

    /// Gives an agent a new key; the old one stops working. The agent stays the same principal.
    pub async fn rotate(&self, name: &str) -> Result<NewAgent> {
        let key = self.secret.issue(TokenKind::Agent);
        let (prefix, mac, name) = (key.prefix, key.mac, name.to_owned());
        let changed = self.change(move |conn, now| {
            let live = agents::by_name(conn, &name)?.filter(|agent| agent.revoked_at.is_none());
            let Some(agent) = live else { return Ok(Err(no_agent())) };
            credentials::revoke_agent(conn, &agent.id, now)?;
            credentials::insert(conn, &of_agent(&agent.id, &prefix, &mac, now))?;
            let entry = account("key_rotated").with("agent_id", agent.id.as_str());
            Ok(Ok((agent, entry)))
        });
        Ok(NewAgent {
            agent: changed.await?,
            key: key.text,
        })
    }

    /// Revokes an agent for good: its key stops working, and what it asked for can no longer be executed.
    pub async fn revoke(&self, name: &str) -> Result<Agent> {
        let name = name.to_owned();
        let changed = self.change(move |conn, now| {
            let Some(agent) = agents::by_name(conn, &name)? else {
                return Ok(Err(no_agent()));
            };
            agents::revoke(conn, &agent.id, now)?;
            credentials::revoke_agent(conn, &agent.id, now)?;
            let entry = account("agent_revoked").with("agent_id", agent.id.as_str());
            Ok(Ok((
                Agent {
                    revoked_at: agent.revoked_at.or(Some(now)),
                    ..agent
                },
                entry,
            )))
        });
        changed.await
    }

    /// One account change by the operator, and its event, in one transaction.
    async fn change<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&mut Conn, Timestamp) -> QueryResult<Result<(T, Entry), Denial>> + Send + Sync + 'static,
    {
        let (clock, event) = (self.clock.clone(), new_id());
        let change = Arc::new(move |conn: &mut Conn| {
            let now = clock.now(conn)?;
            match work(conn, now)? {
                Ok((value, entry)) => audit::record(conn, &event, now, &entry).map(|()| Ok(value)),
                Err(denial) => Ok(Err(denial)),
            }
        });
        let first = Arc::clone(&change);
        match self.db.write(move |conn| first(conn)).await {
            // Somebody took the name in between; a second look finds it taken.
            Err(error) if is_duplicate(&error) => Ok(self.db.write(move |conn| change(conn)).await??),
            changed => Ok(changed??),
        }
    }
}

fn account(change: &str) -> Entry {
    Entry::new(What::Account, Actor::System, &Source::CLI, change)
}

fn of_agent(agent_id: &str, prefix: &str, mac: &str, now: Timestamp) -> Credential {
    let (prefix, mac) = (prefix.to_owned(), mac.to_owned());
    Credential {
        prefix,
        mac,
        agent_id: Some(agent_id.to_owned()),
        person_id: None,
        created_at: now,
        revoked_at: None,
    }
}

fn of_person(person_id: &str, prefix: &str, mac: &str, now: Timestamp) -> Credential {
    let (prefix, mac) = (prefix.to_owned(), mac.to_owned());
    Credential {
        prefix,
        mac,
        agent_id: None,
        person_id: Some(person_id.to_owned()),
        created_at: now,
        revoked_at: None,
    }
}

/// Scopes as they are stored: known ones, sorted, each once.
fn joined(scopes: &[String], known: &[&str]) -> Result<String> {
    if let Some(unknown) = scopes.iter().find(|scope| !known.contains(&scope.as_str())) {
        let known = known.join(", ");
        return Err(Denial::invalid(
            "scope",
            format!("There is no scope {unknown}. The scopes are: {known}."),
        )
        .into());
    }
    let mut scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    scopes.sort_unstable();
    scopes.dedup();
    Ok(scopes.join(" "))
}

fn no_person() -> Denial {
    Denial::new(Code::NotFound, "There is no person with that e-mail address.")
}

fn no_agent() -> Denial {
    Denial::new(Code::NotFound, "There is no agent of that name.")
}
