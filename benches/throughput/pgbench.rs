//! The statements alone, sent by pgbench.

use std::{fs, ops::Range, path::Path, process::Command};

use super::{
    orders::APART,
    recorded::{Statement, Value},
};
use crate::support::Outcome;

/// Does them for these calls on so many connections, and answers how many calls a second that is.
pub fn run(
    folder: &Path,
    url: &str,
    statements: &[Statement],
    calls: Range<usize>,
    at_once: usize,
) -> Outcome<f64> {
    let script = folder.join("statements.sql");
    fs::write(&script, written(statements))?;
    let each = calls.len() / at_once;
    let output = Command::new("pgbench")
        .args(["--no-vacuum", "--protocol", "extended", "--jobs", "2", "--file"])
        .arg(&script)
        .args(["--client", &at_once.min(calls.len()).to_string(), "--transactions", &each.to_string()])
        .args(["--define", &format!("first={}", calls.start), "--define", &format!("each={each}")])
        .args(["--define", "done=0", url])
        .output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let rate = printed.lines().find_map(|line| line.strip_prefix("tps = "));
    match rate.and_then(|rate| rate.split(' ').next()?.parse().ok()) {
        Some(rate) if output.status.success() => Ok(rate),
        _ => Err(format!("pgbench: {printed}{}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// One transaction. Every connection has calls of its own.
fn written(statements: &[Statement]) -> String {
    let mut script =
        "\\set call :first + :client_id * :each + :done\n\\set done :done + 1\nBEGIN;\n".to_owned();
    for statement in statements {
        let mut sql = statement.sql.clone();
        for (index, value) in statement.values.iter().enumerate().rev() {
            sql = sql.replace(&format!("${}", index + 1), &literal(value));
        }
        script.push_str(&sql);
        script.push_str(";\n");
    }
    script + "END;\n"
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Fresh(head, which) => {
            format!("('{head}' || lpad(to_hex(:call::bigint * {APART} + {which}), 12, '0'))")
        }
    }
}
