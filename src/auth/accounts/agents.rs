//! Agents, their keys and scopes.

use super::{Changed, Decided, account, names};
use crate::{
    auth::{Auth, TokenKind},
    db::{Conn, QueryResult, Timestamp, must_be_one},
    error::{Code, Denial, Result},
    store::{
        agents::{self, Agent},
        credentials::{self, Credential},
        new_id, people,
    },
};

/// A new agent, with the key that is shown once.
pub struct NewAgent {
    pub agent: Agent,
    pub key: String,
}

impl Auth {
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
        let name = names::of_agent(name)?;
        let key = self.secret.issue(TokenKind::Agent);
        let (prefix, mac, id, owner) = (key.prefix, key.mac, new_id(), owner.map(names::fold_email));
        let recalled = id.clone();
        let work = move |conn: &mut Conn, (), now| {
            match agents::by_name(conn, &name)? {
                // A try before this one was committed just now, and its answer got lost.
                Some(agent) if agent.id == id => return Ok(Ok((agent, None))),
                Some(agent) => {
                    let revoked = if agent.revoked_at.is_some() {
                        " It was revoked; the log goes on naming it, so take another name."
                    } else {
                        ""
                    };
                    let sentence = format!("There is already an agent {name}.{revoked}");
                    return Ok(Err(Denial::invalid("name", sentence)));
                }
                None => {}
            }
            let owner_id = match &owner {
                Some(email) => match people::by_email(conn, email)? {
                    Some(person) => Some(person.id),
                    None => {
                        let sentence = "There is no person with the e-mail address that owner names.";
                        return Ok(Err(Denial::invalid("owner", sentence)));
                    }
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
                Some(account("agent_added").with("agent_id", id.as_str()).with("scopes", scopes.as_str())),
            )))
        };
        let added = self.issue(|_| Ok(Ok(())), work, move |conn| agents::find(conn, &recalled));
        Ok(NewAgent {
            agent: added.await?,
            key: key.text,
        })
    }

    /// Replaces an agent's scopes. A revoked agent keeps those it had.
    pub async fn set_scopes(&self, name: &str, scopes: &[String], known_scopes: &[&str]) -> Result<Agent> {
        let scopes = joined(scopes, known_scopes)?;
        let work = move |conn: &mut Conn, agent: Agent, _| {
            must_be_one(agents::set_scopes(conn, &agent.id, &scopes)?)?;
            let entry = account("scopes_changed").with("agent_id", agent.id.as_str());
            let entry = entry.with("scopes", scopes.as_str()).with("was", agent.scopes.as_str());
            Ok(Ok((
                Agent {
                    scopes: scopes.clone(),
                    ..agent
                },
                Some(entry),
            )))
        };
        self.change(lock_in_use(name), work, recall(name)).await
    }

    /// Gives an agent a new key; the old one stops working. The agent stays the same principal.
    pub async fn rotate(&self, name: &str) -> Result<NewAgent> {
        let key = self.secret.issue(TokenKind::Agent);
        let (prefix, mac) = (key.prefix, key.mac);
        let work = move |conn: &mut Conn, agent: Agent, now| {
            credentials::revoke_agent(conn, &agent.id, now)?;
            credentials::insert(conn, &of_agent(&agent.id, &prefix, &mac, now))?;
            let entry = account("key_rotated").with("agent_id", agent.id.as_str());
            Ok(Ok((agent, Some(entry))))
        };
        Ok(NewAgent {
            agent: self.issue(lock_in_use(name), work, recall(name)).await?,
            key: key.text,
        })
    }

    /// Revokes an agent for good: its key stops working, and what it asked for can no longer be executed.
    pub async fn revoke(&self, name: &str) -> Result<Changed<Agent>> {
        let work = |conn: &mut Conn, agent: Agent, now| {
            if agent.revoked_at.is_some() {
                return Ok(Ok((Changed::Before(agent), None)));
            }
            must_be_one(agents::revoke(conn, &agent.id, now)?)?;
            credentials::revoke_agent(conn, &agent.id, now)?;
            let entry = account("agent_revoked").with("agent_id", agent.id.as_str());
            let agent = Agent {
                revoked_at: Some(now),
                ..agent
            };
            Ok(Ok((Changed::Now(agent), Some(entry))))
        };
        let again = recall(name);
        self.change(lock(name), work, move |conn| Ok(again(conn)?.map(Changed::Now))).await
    }
}

/// Locks the agent of a name.
fn lock(name: &str) -> impl Fn(&mut Conn) -> Decided<Agent> + Send + Sync + 'static {
    let name = name.to_owned();
    move |conn| Ok(agents::lock_by_name(conn, &name)?.ok_or_else(no_agent))
}

/// The same, unless it is revoked.
fn lock_in_use(name: &str) -> impl Fn(&mut Conn) -> Decided<Agent> + Send + Sync + 'static {
    let lock = lock(name);
    move |conn| {
        Ok(match lock(conn)? {
            Ok(agent) if agent.revoked_at.is_some() => Err(revoked(&agent)),
            locked => locked,
        })
    }
}

/// Reads the agent of a name.
fn recall(name: &str) -> impl Fn(&mut Conn) -> QueryResult<Option<Agent>> + Send + Sync + 'static {
    let name = name.to_owned();
    move |conn| agents::by_name(conn, &name)
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

fn revoked(agent: &Agent) -> Denial {
    Denial::invalid("name", format!("{} is revoked for good.", agent.name))
}

fn no_agent() -> Denial {
    Denial::new(Code::NotFound, "There is no agent of that name.")
}
