//! Agents: MCP clients with keys of their own.

use std::collections::{BTreeMap, BTreeSet};

use diesel::prelude::*;

use super::schema::agents;
use crate::db::{Conn, Prepare, QueryResult, Timestamp, hold_row, lock_row, of_few_lengths};

/// An MCP client; untrusted, and never the one who decides.
#[derive(Debug, Clone, Queryable, Selectable, Insertable, QueryableByName)]
#[diesel(table_name = agents)]
pub struct Agent {
    pub id: String,
    pub name: String,
    /// The person it belongs to.
    pub owner_id: Option<String>,
    /// Sorted, separated by one space.
    pub scopes: String,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    pub lock_no: i64,
}

impl Agent {
    /// Whether the agent may use what needs `scope`.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes().any(|held| held == scope)
    }

    /// What the agent may use.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scopes.split(' ').filter(|scope| !scope.is_empty())
    }
}

pub fn insert(conn: &mut Conn, agent: &Agent) -> QueryResult<()> {
    diesel::insert_into(agents::table).values(agent).execute(conn).map(|_| ())
}

pub fn find(conn: &mut Conn, id: &str) -> QueryResult<Option<Agent>> {
    agents::table.find(id).select(Agent::as_select()).first(conn).optional()
}

pub fn by_name(conn: &mut Conn, name: &str) -> QueryResult<Option<Agent>> {
    agents::table
        .filter(agents::name.eq(name))
        .select(Agent::as_select())
        .first(conn)
        .optional()
}

/// All agents, by name.
pub fn all(conn: &mut Conn) -> QueryResult<Vec<Agent>> {
    agents::table.order(agents::name.asc()).select(Agent::as_select()).load(conn)
}

/// The names of the agents with these ids, by id.
pub fn names(conn: &mut Conn, ids: BTreeSet<String>) -> QueryResult<BTreeMap<String, String>> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let among = agents::id.eq_any(of_few_lengths(ids));
    let names = agents::table.filter(among).select((agents::id, agents::name)).prepared();
    Ok(names.load::<(String, String)>(conn)?.into_iter().collect())
}

/// Finds the agent and locks it until the transaction ends.
pub fn lock_by_name(conn: &mut Conn, name: &str) -> QueryResult<Option<Agent>> {
    lock_row(conn, "agents", "name", name)
}

/// Reads the agent and keeps the row from changing until the transaction ends.
pub fn hold(conn: &mut Conn, id: &str) -> QueryResult<Option<Agent>> {
    hold_row(conn, "agents", "id", id)
}

pub fn set_scopes(conn: &mut Conn, id: &str, scopes: &str) -> QueryResult<usize> {
    diesel::update(agents::table.find(id))
        .set((agents::scopes.eq(scopes), agents::lock_no.eq(agents::lock_no + 1)))
        .execute(conn)
}

/// Revokes the agent for good; 0 when it was revoked before.
pub fn revoke(conn: &mut Conn, id: &str, at: Timestamp) -> QueryResult<usize> {
    diesel::update(agents::table.find(id).filter(agents::revoked_at.is_null()))
        .set((agents::revoked_at.eq(at), agents::lock_no.eq(agents::lock_no + 1)))
        .execute(conn)
}
