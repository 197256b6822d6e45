//! Both folders of migrations make the same tables with the same columns.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Each table's columns, in order.
fn columns(backend: &str) -> BTreeMap<String, Vec<String>> {
    let mut migrations: Vec<_> = fs::read_dir(Path::new("migrations").join(backend))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("up.sql"))
        .collect();
    migrations.sort();
    let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for migration in migrations {
        let mut table = String::new();
        for line in fs::read_to_string(migration).unwrap().lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            match words.as_slice() {
                ["CREATE", "TABLE", name, ..] => (*name).clone_into(&mut table),
                ["ALTER", "TABLE", name, "ADD", "COLUMN", column, ..] => {
                    tables.entry((*name).to_owned()).or_default().push((*column).to_owned());
                }
                [first, ..] if first.starts_with(')') => table.clear(),
                [column, ..] if !table.is_empty() && column.starts_with(|c: char| c.is_ascii_lowercase()) => {
                    tables.entry(table.clone()).or_default().push((*column).to_owned());
                }
                _ => {}
            }
        }
    }
    tables
}

#[test]
fn both_backends_have_the_same_columns() {
    let sqlite = columns("sqlite");
    assert!(
        sqlite["audit_events"].contains(&"body".to_owned()) && sqlite["orders"].len() > 10,
        "{sqlite:?}"
    );
    assert_eq!(sqlite, columns("postgres"));
}
