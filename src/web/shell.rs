//! What stands around every page: the rail, who is signed in, and what is paused.

use crate::{
    auth::{Visitor, guard::Permission},
    db::{Conn, QueryResult},
    error::Result,
    store::{actions, agents, pauses, people},
    web::{site::Site, when, words},
    workflow::{Gate, PauseTarget, restored},
};

/// The pages of the rail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Waiting,
    History,
    Orders,
    Stock,
    Audit,
    Agents,
    People,
    Deliveries,
    Account,
}

struct Entry {
    place: Place,
    href: &'static str,
    label: &'static str,
    icon: &'static str,
    needs: Permission,
}

impl Entry {
    const fn new(
        place: Place,
        href: &'static str,
        label: &'static str,
        icon: &'static str,
        needs: Permission,
    ) -> Self {
        Self {
            place,
            href,
            label,
            icon,
            needs,
        }
    }
}

const RAIL: [Entry; 9] = [
    Entry::new(Place::Waiting, "/", "Waiting", "inbox", Permission::See),
    Entry::new(Place::History, "/actions", "History", "clock", Permission::See),
    Entry::new(Place::Orders, "/orders", "Orders", "receipt", Permission::See),
    Entry::new(Place::Stock, "/products", "Stock", "box", Permission::See),
    Entry::new(Place::Audit, "/audit", "Audit", "lines", Permission::Audit),
    Entry::new(Place::Agents, "/agents", "Agents", "agent", Permission::Own),
    Entry::new(Place::People, "/people", "People", "people", Permission::Own),
    Entry::new(Place::Deliveries, "/deliveries", "Mail", "mail", Permission::Own),
    Entry::new(Place::Account, "/account", "Account", "person", Permission::See),
];

/// One entry of the rail as the template shows it.
pub struct Link {
    pub href: &'static str,
    pub label: &'static str,
    pub icon: &'static str,
    pub current: bool,
    /// How many actions wait; on the queue's entry alone.
    pub count: Option<i64>,
    /// Left out of a phone's rail, which has room for the daily pages; the account page leads there.
    pub seldom: bool,
}

/// A pause in force.
pub struct Paused {
    /// As a form names it.
    pub target: String,
    /// "Everything", "Refund", "support-agent".
    pub what: String,
    /// "today at 10:41 UTC by owner@example.com".
    pub since: String,
    /// "restored from a backup of …", if that is why.
    pub restored: Option<String>,
}

/// Everything around a page.
pub struct Shell {
    pub email: String,
    pub role: &'static str,
    pub links: Vec<Link>,
    pub waiting: i64,
    pub paused: Vec<Paused>,
    /// Whether the visitor may resume.
    pub owns: bool,
    /// Goes into every form of the page.
    pub form_token: String,
}

impl Shell {
    /// The shell for a visitor's page.
    pub async fn load(site: &Site, visitor: &Visitor, place: Place) -> Result<Self> {
        let gate = Gate::clone(&site.gate);
        let read = site.gate.db.read(move |conn| {
            let now = gate.clock.now(conn)?;
            Ok((actions::queue_depth(conn, now)?.0, paused(&gate, conn)?))
        });
        let (waiting, paused) = read.await?;
        let role = visitor.person.role;
        let link = |entry: &Entry| Link {
            href: entry.href,
            label: entry.label,
            icon: entry.icon,
            current: entry.place == place,
            count: (entry.place == Place::Waiting && waiting > 0).then_some(waiting),
            seldom: entry.needs == Permission::Own,
        };
        Ok(Self {
            email: visitor.person.email.clone(),
            role: words::role(role),
            links: RAIL.iter().filter(|entry| role.may(entry.needs)).map(link).collect(),
            waiting,
            paused,
            owns: role.may(Permission::Own),
            form_token: site.auth.form_token(&visitor.means),
        })
    }

    /// Whether a pause in force keeps actions of that kind and agent from being approved.
    pub fn pauses(&self, kind: &str, agent_id: &str) -> bool {
        let concerned = PauseTarget::concerning(kind, agent_id);
        self.paused.iter().any(|paused| concerned.contains(&paused.target))
    }
}

fn paused(gate: &Gate, conn: &mut Conn) -> QueryResult<Vec<Paused>> {
    let now = gate.clock.now(conn)?;
    let mut paused = Vec::new();
    for pause in pauses::all(conn)? {
        let by = match &pause.paused_by {
            Some(id) => people::find(conn, id)?.map(|person| person.email),
            None => None,
        };
        let what = match PauseTarget::from_key(&pause.target) {
            Some(PauseTarget::Kind(name)) => {
                gate.registry.find_kind(&name).map_or(name, |kind| kind.spec().title.to_owned())
            }
            Some(PauseTarget::Agent(id)) => agents::find(conn, &id)?.map_or(id, |agent| agent.name),
            _ => "Everything".to_owned(),
        };
        let by = by.map_or_else(|| "at the command line".to_owned(), |email| format!("by {email}"));
        paused.push(Paused {
            restored: restored(&pause),
            target: pause.target,
            what,
            since: format!("{} UTC {by}", when::moment(pause.paused_at, now)),
        });
    }
    Ok(paused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::people::Role;

    #[test]
    fn nobody_is_shown_a_door_that_is_closed() {
        let labels = |role: Role| {
            let open = RAIL.iter().filter(|entry| role.may(entry.needs));
            open.map(|entry| entry.label).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(labels(Role::Viewer), "Waiting History Orders Stock Account");
        assert_eq!(labels(Role::Approver), labels(Role::Viewer));
        assert_eq!(labels(Role::Auditor), "Waiting History Orders Stock Audit Account");
        assert_eq!(labels(Role::Owner), "Waiting History Orders Stock Audit Agents People Mail Account");
    }
}
