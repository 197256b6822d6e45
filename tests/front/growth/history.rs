//! Years of history, made of the rows of one morning.

use std::collections::BTreeMap;

use crate::support::rival::Rival;
use crate::support::{Backend, TestApp};

/// Copies rows, again and again, with some columns of each copy its own.
pub struct Copier {
    rival: Rival,
    backend: Backend,
}

impl Copier {
    pub fn on(app: &TestApp) -> Self {
        Self {
            rival: app.rival(),
            backend: app.database.backend,
        }
    }

    /// So many copies of each row that fulfils the condition. `{i}` in an expression is the number of the copy, `{id}` an
    /// id and `{at}` a moment of its own.
    pub fn copy(&mut self, table: &str, condition: &str, copies: usize, own: &[(&str, &str)]) {
        let own: BTreeMap<_, _> = own.iter().map(|(column, value)| (*column, self.spelled(value))).collect();
        let columns = self.columns(table);
        let values: Vec<_> =
            columns.iter().map(|column| own.get(column.as_str()).unwrap_or(column).as_str()).collect();
        let (columns, values) = (columns.join(", "), values.join(", "));
        self.rival.run(&format!(
            "INSERT INTO {table} ({columns})
             WITH RECURSIVE copies (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM copies WHERE i < {copies})
             SELECT {values} FROM {table}, copies WHERE {condition}"
        ));
    }

    /// What the database learns from so much history.
    pub fn analyze(&mut self) {
        self.rival.run(match self.backend {
            Backend::Sqlite => "SELECT 1",
            Backend::Postgres => "VACUUM ANALYZE",
        });
    }

    fn spelled(&self, value: &str) -> String {
        let (id, at) = match self.backend {
            Backend::Sqlite => (
                "printf('01900000-0000-7000-8000-%09x%03x', {i}, {salt})",
                "strftime('%Y-%m-%d %H:%M:%f000', 1767225600 + i, 'unixepoch')",
            ),
            Backend::Postgres => (
                "'01900000-0000-7000-8000-' || lpad(to_hex({i}), 9, '0') || lpad(to_hex({salt}), 3, '0')",
                "timestamp '2026-01-01' + i * interval '1 second'",
            ),
        };
        let with_ids = value.split("{id:").enumerate().map(|(number, part)| match part.split_once('}') {
            Some((salt, rest)) if number > 0 => format!("{}{rest}", id.replace("{salt}", salt)),
            _ => part.to_owned(),
        });
        with_ids.collect::<String>().replace("{at}", at).replace("{i}", "i")
    }

    /// All but the one that the database numbers by itself.
    fn columns(&mut self, table: &str) -> Vec<String> {
        self.rival.texts(&match self.backend {
            Backend::Sqlite => {
                format!("SELECT name AS t FROM pragma_table_info('{table}') WHERE name <> 'seq'")
            }
            Backend::Postgres => format!(
                "SELECT column_name::text AS t FROM information_schema.columns WHERE table_name = '{table}'
                 AND table_schema = 'public' AND column_name <> 'seq' ORDER BY ordinal_position"
            ),
        })
    }
}
