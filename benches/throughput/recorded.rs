//! The statements of a call, as the gate itself sends them, to be sent again without the gate.

use std::sync::Mutex;

use diesel::connection::{InstrumentationEvent, set_default_instrumentation};

use super::orders::APART;
use crate::support::Outcome;

/// A statement and what is bound to it.
#[derive(Clone, Debug)]
pub struct Statement {
    pub sql: String,
    pub values: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    Text(String),
    /// Several texts, which Postgres takes for one value.
    Texts(Vec<String>),
    /// An id or a hash, of which the last digits are others in every call: what comes before them, and which of its ids it is.
    Fresh(String, usize),
}

/// So many digits are the fresh ones.
const DIGITS: usize = 12;

impl Value {
    /// Those of a call.
    pub fn fresh(head: &str, which: usize, call: usize) -> String {
        format!("{head}{:0DIGITS$x}", call * APART + which)
    }
}

/// What diesel prints between a statement and its values.
const BINDS: &str = " -- binds: ";

static SENT: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// From now on every connection of this process is listened to.
pub fn listen() -> Outcome<()> {
    Ok(set_default_instrumentation(|| Some(Box::new(hear)))?)
}

fn hear(event: InstrumentationEvent<'_>) {
    if let InstrumentationEvent::StartQuery { query, .. } = event {
        SENT.lock().unwrap().push(query.to_string());
    }
}

/// Leaves out what was sent so far.
pub fn forget() {
    SENT.lock().unwrap().clear();
}

/// What was sent since the last time, without what begins and ends transactions.
pub fn heard() -> Outcome<Vec<Statement>> {
    let sent = std::mem::take(&mut *SENT.lock().unwrap());
    let statements = sent.iter().filter(|sent| {
        let verb = sent.split([' ', ';']).next().unwrap_or_default().to_ascii_uppercase();
        // The pool asks whether a connection is there with a bare SELECT.
        ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains(&verb.as_str()) && sent.contains(BINDS)
    });
    statements.map(|sent| read(sent)).collect()
}

/// Marks what differs between two calls of one kind and is an id or a hash. Those that were `known` before keep their number.
pub fn generalized(
    mut one: Vec<Statement>,
    other: &[Statement],
    known: &mut Vec<String>,
) -> Outcome<Vec<Statement>> {
    if one.len() != other.len() {
        return Err(format!("{} statements, then {}", one.len(), other.len()).into());
    }
    for (statement, other) in one.iter_mut().zip(other) {
        for (value, other) in statement.values.iter_mut().zip(&other.values) {
            let Value::Text(text) = value else { continue };
            let is_id =
                text.len() >= 32 && text.bytes().rev().take(DIGITS).all(|byte| byte.is_ascii_hexdigit());
            if !is_id || Value::Text(text.clone()) == *other {
                continue;
            }
            let which = known.iter().position(|known| known == text).unwrap_or_else(|| {
                known.push(text.clone());
                known.len() - 1
            });
            assert!(which < APART, "a call makes more ids than there is room for");
            *value = Value::Fresh(text[..text.len() - DIGITS].to_owned(), which);
        }
    }
    Ok(one)
}

/// As diesel prints it: the statement, and behind it a list of values as Rust shows them.
fn read(sent: &str) -> Outcome<Statement> {
    let (sql, binds) = sent.rsplit_once(BINDS).ok_or_else(|| format!("no values: {sent}"))?;
    let list = binds.trim().strip_prefix('[').and_then(|list| list.strip_suffix(']')).ok_or("no list")?;
    let (mut values, mut rest) = (Vec::new(), list);
    while !rest.is_empty() {
        let (value, after) = match rest.as_bytes()[0] {
            b'"' => {
                let (said, after) = text(&rest[1..])?;
                (Value::Text(said), after)
            }
            b'[' => texts(&rest[1..])?,
            _ => {
                let end = rest.find(", ").unwrap_or(rest.len());
                (plain(&rest[..end]), &rest[end..])
            }
        };
        values.push(value);
        rest = after.strip_prefix(", ").unwrap_or(after);
    }
    Ok(Statement {
        sql: sql.to_owned(),
        values,
    })
}

fn plain(shown: &str) -> Value {
    match shown {
        "None" | "NULL" | "null" => Value::Null,
        "true" => Value::Boolean(true),
        "false" => Value::Boolean(false),
        _ if shown.starts_with(|char: char| char.is_ascii_uppercase()) => Value::Text(stored(shown)),
        // A moment in time is the only other thing without quotes.
        _ => shown.parse().map_or_else(|_| Value::Text(shown.replace('T', " ")), Value::Integer),
    }
}

/// A state such as `PartiallyRefunded` as it is stored.
fn stored(state: &str) -> String {
    let mut stored = String::new();
    for char in state.chars() {
        if char.is_ascii_uppercase() && !stored.is_empty() {
            stored.push('_');
        }
        stored.push(char.to_ascii_lowercase());
    }
    stored
}

/// The texts of a list, and what follows it.
fn texts(mut list: &str) -> Outcome<(Value, &str)> {
    let mut texts = Vec::new();
    loop {
        if let Some(after) = list.strip_prefix(']') {
            return Ok((Value::Texts(texts), after));
        }
        let (said, after) = text(list.strip_prefix('"').ok_or("no text in a list")?)?;
        texts.push(said);
        list = after.strip_prefix(", ").unwrap_or(after);
    }
}

/// A quoted text without what Rust escapes, and what follows it.
fn text(quoted: &str) -> Outcome<(String, &str)> {
    let mut said = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Ok((said, &quoted[at + 1..])),
            '\\' => match chars.next().ok_or("no end")?.1 {
                'n' => said.push('\n'),
                escaped @ ('"' | '\\' | '\'') => said.push(escaped),
                other => return Err(format!("\\{other}").into()),
            },
            char => said.push(char),
        }
    }
    Err("no end".into())
}
