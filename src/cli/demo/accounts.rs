//! One person per role, and two agents. What an earlier start made is kept, with what its `demo.json` says, if that still holds.

use super::sheet::{AgentSheet, ENDED, PersonSheet, Sheet};
use crate::{
    app::App,
    auth::{TokenKind, Worth, accounts::NewPerson},
    config::Config,
    db::{Db, has_table},
    error::{Error, Result},
    store::{
        agents,
        people::{self, Role},
    },
};

/// The agent with every scope.
pub(super) const SUPPORT: &str = "support-agent";
/// The agent that may only read.
pub(super) const READER: &str = "read-only-agent";

/// Refuses a database of other people than the demo's, or of nobody but its agents: of an installation, which the demo would change.
pub(super) async fn are_ours(config: &Config) -> Result<()> {
    let Some(db) = Db::look(&config.database_url)? else { return Ok(()) };
    let read = db.read(|conn| {
        if !has_table(conn, "people")? {
            return Ok((Vec::new(), false));
        }
        let named = agents::by_name(conn, SUPPORT)?.or(agents::by_name(conn, READER)?);
        Ok((people::addresses(conn)?, named.is_some()))
    });
    let (people, has_agents) = read.await?;
    let ours: Vec<_> = Role::ALL.iter().map(|role| email_of(*role)).collect();
    let is_ours = match people.len() {
        0 => !has_agents,
        // A start that was cut short made some of them.
        _ => people.iter().all(|one| ours.contains(one)) || ours.iter().all(|one| people.contains(one)),
    };
    if is_ours {
        return Ok(());
    }
    Err(Error::Setup(format!(
        "{} is not a demo's database: it has people or agents of its own. Name another folder (COUNTERSIGN_DATA_DIR, --data-dir).",
        config.database_url
    )))
}

/// Makes what is missing, and what was made under a secret that is no longer this one, and answers the new `demo.json`.
pub(super) async fn prepare(app: &App, earlier: Option<Sheet>) -> Result<Sheet> {
    let (mut people, mut agents) = earlier.map(|sheet| (sheet.people, sheet.agents)).unwrap_or_default();
    let mut kept = Vec::new();
    for role in Role::ALL {
        let email = email_of(*role);
        let place = people.iter().position(|person| person.email == email);
        kept.push(person(app, *role, email, place.map(|place| people.swap_remove(place))).await?);
    }
    let every = app.gate.registry.scopes();
    let reading: Vec<_> = every.iter().copied().filter(|scope| scope.ends_with(":read")).collect();
    let mut keys = Vec::new();
    for (name, scopes) in [(READER, reading), (SUPPORT, every)] {
        let place = agents.iter().position(|agent| agent.name == name);
        keys.push(agent(app, name, &scopes, place.map(|place| agents.swap_remove(place))).await?);
    }
    let url = app.config.public_url().origin().ascii_serialization();
    Ok(Sheet {
        mcp_url: format!("{url}/mcp"),
        api_url: format!("{url}/api/v1"),
        dashboard_url: url,
        people: kept,
        agents: keys,
    })
}

async fn person(app: &App, role: Role, email: String, earlier: Option<PersonSheet>) -> Result<PersonSheet> {
    let wanted = email.clone();
    let exists = app.db.read(move |conn| people::by_email(conn, &wanted)).await?.is_some();
    let NewPerson {
        person,
        password,
        api_token,
    } = match earlier {
        _ if !exists => app.auth.add_person(&email, role).await?,
        None => app.auth.reset_password(&email).await?,
        Some(earlier) => match app.auth.worth(TokenKind::Person, &earlier.api_token).await? {
            Worth::Current => return Ok(earlier),
            Worth::OfAnotherSecret => app.auth.reset_password(&email).await?,
            Worth::Ended => {
                return Ok(PersonSheet {
                    password: ENDED.to_owned(),
                    api_token: ENDED.to_owned(),
                    ..earlier
                });
            }
        },
    };
    Ok(PersonSheet {
        email: person.email,
        password,
        role: person.role.to_string(),
        api_token,
    })
}

async fn agent(app: &App, name: &str, scopes: &[&str], earlier: Option<AgentSheet>) -> Result<AgentSheet> {
    let wanted = name.to_owned();
    let found = app.db.read(move |conn| agents::by_name(conn, &wanted)).await?;
    let scopes: Vec<_> = match &found {
        Some(agent) => agent.scopes().map(ToOwned::to_owned).collect(),
        None => scopes.iter().map(ToString::to_string).collect(),
    };
    let worth = match &earlier {
        Some(earlier) => app.auth.worth(TokenKind::Agent, &earlier.key).await?,
        None => Worth::OfAnotherSecret,
    };
    let key = match (found, worth, earlier) {
        (None, ..) => app.auth.add_agent(name, &scopes, None, &app.gate.registry.scopes()).await?.key,
        (Some(agent), ..) if agent.revoked_at.is_some() => ENDED.to_owned(),
        (_, Worth::Current, Some(earlier)) => earlier.key,
        (_, Worth::Ended, _) => ENDED.to_owned(),
        (_, Worth::Current | Worth::OfAnotherSecret, _) => app.auth.rotate(name).await?.key,
    };
    Ok(AgentSheet {
        name: name.to_owned(),
        key,
        scopes,
    })
}

fn email_of(role: Role) -> String {
    format!("{role}@example.com")
}
