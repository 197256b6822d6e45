//! The statements alone, in a loop on one connection to a SQLite file.

use std::{ops::Range, path::Path, time::Instant};

use rusqlite::{Connection, types};

use super::recorded::{Statement, Value};
use crate::support::Outcome;

pub fn open(file: &Path) -> Outcome<Connection> {
    let connection = Connection::open(file)?;
    // As the gate sets it.
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON;",
    )?;
    connection.set_prepared_statement_cache_capacity(256);
    Ok(connection)
}

/// Does them for these calls, so many in one transaction, and answers how many calls a second that is.
pub fn run(
    connection: &Connection,
    statements: &[Statement],
    calls: Range<usize>,
    in_one: usize,
) -> Outcome<f64> {
    let (begun, count) = (Instant::now(), calls.len());
    let calls: Vec<usize> = calls.collect();
    for group in calls.chunks(in_one) {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        for call in group {
            for statement in statements {
                let mut prepared = connection.prepare_cached(&statement.sql)?;
                let values = statement.values.iter().map(|value| bound(value, *call));
                let mut rows = prepared.query(rusqlite::params_from_iter(values))?;
                while rows.next()?.is_some() {}
            }
        }
        connection.execute_batch("COMMIT")?;
    }
    Ok(f64::from(u32::try_from(count)?) / begun.elapsed().as_secs_f64())
}

fn bound(value: &Value, call: usize) -> types::Value {
    match value {
        Value::Null => types::Value::Null,
        Value::Boolean(yes) => types::Value::Integer(i64::from(*yes)),
        Value::Integer(number) => types::Value::Integer(*number),
        Value::Text(text) => types::Value::Text(text.clone()),
        Value::Texts(_) => unreachable!("SQLite takes each text by itself"),
        Value::Fresh(head, which) => types::Value::Text(Value::fresh(head, *which, call)),
    }
}
