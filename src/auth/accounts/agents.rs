//! Agents, their keys and scopes.

use super::{Changed, account, names, people::no_person};
use crate::{
    auth::{Auth, TokenKind},
    db::Timestamp,
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
                Some(account("agent_added").with("agent_id", id.as_str()).with("scopes", scopes.as_str())),
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
                Some(entry),
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
            Ok(Ok((agent, Some(entry))))
        });
        Ok(NewAgent {
            agent: changed.await?,
            key: key.text,
        })
    }

    /// Revokes an agent for good: its key stops working, and what it asked for can no longer be executed.
    pub async fn revoke(&self, name: &str) -> Result<Changed<Agent>> {
        let name = name.to_owned();
        let changed = self.change(move |conn, now| {
            let Some(agent) = agents::by_name(conn, &name)? else {
                return Ok(Err(no_agent()));
            };
            if agents::revoke(conn, &agent.id, now)? == 0 {
                return Ok(Ok((Changed::Before(agent), None)));
            }
            credentials::revoke_agent(conn, &agent.id, now)?;
            let entry = account("agent_revoked").with("agent_id", agent.id.as_str());
            let agent = Agent {
                revoked_at: Some(now),
                ..agent
            };
            Ok(Ok((Changed::Now(agent), Some(entry))))
        });
        changed.await
    }
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

fn no_agent() -> Denial {
    Denial::new(Code::NotFound, "There is no agent of that name.")
}
