//! The statements alone, sent by pgbench.

use std::{fs, ops::Range, process::Command};

use super::{
    orders::APART,
    recorded::{Statement, Value},
    site::{Backend, Site},
};
use crate::support::Outcome;

/// Does them for these calls on so many connections, so many in one transaction, and answers how many calls a second that is.
pub fn run(
    site: &Site,
    statements: &[Statement],
    calls: Range<usize>,
    at_once: usize,
    in_one: usize,
) -> Outcome<f64> {
    let (script, url) = (site.folder().join("statements.sql"), site.url());
    fs::write(&script, written(statements, in_one))?;
    let each = calls.len() / at_once;
    let protocol = if site.backend == Backend::Prepared { "prepared" } else { "extended" };
    let output = Command::new("pgbench")
        .args(["--no-vacuum", "--protocol", protocol, "--jobs", "2", "--file"])
        .arg(&script)
        .args([
            "--client",
            &at_once.min(calls.len()).to_string(),
            "--transactions",
            &(each / in_one).to_string(),
        ])
        .args(["--define", &format!("first={}", calls.start), "--define", &format!("each={each}")])
        .args(["--define", "done=0", url])
        .output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let rate = printed.lines().find_map(|line| line.strip_prefix("tps = "));
    match rate.and_then(|rate| rate.split(' ').next()?.parse::<f64>().ok()) {
        Some(rate) if output.status.success() => Ok(rate * f64::from(u32::try_from(in_one)?)),
        _ => Err(format!("pgbench: {printed}{}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// One transaction. Every connection has calls of its own.
fn written(statements: &[Statement], in_one: usize) -> String {
    let next = "\\set call :first + :client_id * :each + :done\n\\set done :done + 1\n";
    let one = statements.iter().map(sent).collect::<String>();
    format!("BEGIN;\n{}END;\n", (next.to_owned() + &one).repeat(in_one))
}

fn sent(statement: &Statement) -> String {
    let mut sql = statement.sql.clone();
    for (index, value) in statement.values.iter().enumerate().rev() {
        sql = sql.replace(&format!("${}", index + 1), &literal(value));
    }
    sql + ";\n"
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Boolean(yes) => yes.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => quoted(text),
        Value::Texts(texts) => {
            let texts: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
            format!("ARRAY[{}]::text[]", texts.join(", "))
        }
        Value::Fresh(head, which) => {
            let head = quoted(head);
            format!("({head} || lpad(to_hex(:call::bigint * {APART} + {which}), 12, '0'))")
        }
    }
}

/// Without a colon, behind which pgbench sees a variable of its own.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\'', "''").replace(':', "\\003A");
    format!("U&'{escaped}'")
}
