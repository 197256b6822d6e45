//! How people want to be told.

use diesel::prelude::*;

use super::schema::{notification_mutes, notification_rules, notification_settings};
use crate::db::{Conn, QueryResult, Timestamp, text_enum};

text_enum! {
    /// When a person is told of a request.
    pub enum Timing {
        AtOnce = "at_once",
        /// With all others, at every quarter of an hour.
        QuarterHourly = "quarter_hourly",
        /// With all others, at every full hour.
        Hourly = "hourly",
        Never = "never",
    }
}

text_enum! {
    /// What a person can leave as a whole, and come back to.
    pub enum List {
        /// Requests that wait, and what became of those nobody decided.
        Requests = "requests",
        /// Decisions on the requests of one's own agents.
        Outcomes = "outcomes",
        /// Messages that could not be delivered.
        Deliveries = "deliveries",
    }
}

/// A person's clock.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable)]
#[diesel(table_name = notification_settings)]
pub struct Settings {
    /// An IANA name, such as `Asia/Kolkata`.
    pub time_zone: String,
    /// Minutes of the local day; both or neither.
    pub quiet_from: Option<i32>,
    pub quiet_until: Option<i32>,
}

/// When a person is told of actions of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable)]
#[diesel(table_name = notification_rules)]
pub struct Rule {
    pub kind: String,
    /// Of the amount; empty in the rule for the whole kind.
    pub unit: String,
    /// From which amount on.
    pub from_amount: i64,
    pub timing: Timing,
}

/// Everybody's settings, as far as they have any, with whose they are.
pub fn all_settings(conn: &mut Conn) -> QueryResult<Vec<(String, Settings)>> {
    notification_settings::table
        .select((notification_settings::person_id, Settings::as_select()))
        .load(conn)
}

/// A person's settings.
pub fn settings(conn: &mut Conn, person_id: &str) -> QueryResult<Option<Settings>> {
    notification_settings::table
        .find(person_id)
        .select(Settings::as_select())
        .first(conn)
        .optional()
}

/// Everybody's rules for a kind, with whose they are.
pub fn rules_for(conn: &mut Conn, kind: &str) -> QueryResult<Vec<(String, Rule)>> {
    notification_rules::table
        .filter(notification_rules::kind.eq(kind))
        .select((notification_rules::person_id, Rule::as_select()))
        .load(conn)
}

/// A person's rules, by kind, unit and amount.
pub fn rules(conn: &mut Conn, person_id: &str) -> QueryResult<Vec<Rule>> {
    notification_rules::table
        .filter(notification_rules::person_id.eq(person_id))
        .order((
            notification_rules::kind.asc(),
            notification_rules::unit.asc(),
            notification_rules::from_amount.asc(),
        ))
        .select(Rule::as_select())
        .load(conn)
}

/// Puts a person's settings and rules in place of those before.
pub fn replace(conn: &mut Conn, person_id: &str, settings: &Settings, rules: &[Rule]) -> QueryResult<()> {
    diesel::delete(notification_settings::table.find(person_id)).execute(conn)?;
    diesel::insert_into(notification_settings::table)
        .values((notification_settings::person_id.eq(person_id), settings))
        .execute(conn)?;
    diesel::delete(notification_rules::table.filter(notification_rules::person_id.eq(person_id)))
        .execute(conn)?;
    for rule in rules {
        diesel::insert_into(notification_rules::table)
            .values((notification_rules::person_id.eq(person_id), rule))
            .execute(conn)?;
    }
    Ok(())
}

/// Who takes no part in a list, by id.
pub fn muted(conn: &mut Conn, list: List) -> QueryResult<Vec<String>> {
    notification_mutes::table
        .filter(notification_mutes::list.eq(list))
        .select(notification_mutes::person_id)
        .load(conn)
}

/// The lists that a person takes no part in.
pub fn mutes(conn: &mut Conn, person_id: &str) -> QueryResult<Vec<List>> {
    notification_mutes::table
        .filter(notification_mutes::person_id.eq(person_id))
        .order(notification_mutes::list.asc())
        .select(notification_mutes::list)
        .load(conn)
}

/// Takes a person out of a list; 0 when they took no part before. Called on a locked person.
pub fn mute(conn: &mut Conn, person_id: &str, list: List, at: Timestamp) -> QueryResult<usize> {
    if mutes(conn, person_id)?.contains(&list) {
        return Ok(0);
    }
    let row = (
        notification_mutes::person_id.eq(person_id),
        notification_mutes::list.eq(list),
        notification_mutes::muted_at.eq(at),
    );
    diesel::insert_into(notification_mutes::table).values(row).execute(conn)
}

/// Lets a person take part in a list again; 0 when they did already.
pub fn unmute(conn: &mut Conn, person_id: &str, list: List) -> QueryResult<usize> {
    diesel::delete(
        notification_mutes::table
            .filter(notification_mutes::person_id.eq(person_id))
            .filter(notification_mutes::list.eq(list)),
    )
    .execute(conn)
}
