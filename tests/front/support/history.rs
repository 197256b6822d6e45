//! Years of history, made of the rows of one morning.

use std::collections::BTreeMap;

/// A database of either backend, to be spoken to in SQL.
pub trait Sql {
    fn is_postgres(&self) -> bool;

    /// Runs statements.
    fn run(&mut self, sql: &str);

    /// The texts that a query of one column `t` finds.
    fn texts(&mut self, sql: &str) -> Vec<String>;
}

/// The ids of two actions that were executed on that morning.
pub struct Morning<'a> {
    pub refunded: &'a str,
    pub adjusted: &'a str,
}

/// Copies each of the two so often, with five events each: refunds of as many orders, and the same adjustment of one
/// product's stock.
pub fn grow(sql: &mut impl Sql, morning: &Morning<'_>, copies: usize) {
    let mut copier = Copier { sql };
    let long_ago = [("requested_at", "{at}"), ("expires_at", "{at}"), ("decided_at", "{at}")];
    let own = [("slot_key", "'e:' || {i} || kind"), ("attempt", "1")];
    for (salt, action) in [("1", morning.refunded), ("2", morning.adjusted)] {
        let (id, one) = (format!("{{id:{salt}}}"), format!("id = '{action}'"));
        let mut columns = [&long_ago[..], &own, &[("id", &id)]].concat();
        if salt == "1" {
            columns.push(("fingerprint", "'grown' || {i}"));
        }
        copier.copy("actions", &one, copies, &columns);
        let of_it = format!("action_id = '{action}'");
        let subject = if salt == "1" { "'order:grown' || {i}" } else { "subject" };
        copier.copy(
            "action_subjects",
            &of_it,
            copies,
            &[("action_id", &id), ("subject", subject), ("expires_at", "{at}")],
        );
        let key = "'e:' || {i} || (SELECT kind FROM actions a WHERE a.id = action_id)";
        copier.copy("slots", &of_it, copies, &[("key", key), ("action_id", &id)]);
        for number in 0..5 {
            let event = format!("{{id:{salt}{number}}}");
            let first = format!("seq = (SELECT min(seq) FROM audit_events WHERE {of_it})");
            copier.copy(
                "audit_events",
                &first,
                copies,
                &[("id", &event), ("action_id", &id), ("at", "{at}")],
            );
        }
    }
    let movement = [("action_id", "{id:2}"), ("moved_at", "{at}")];
    copier.copy("stock_movements", "1 = 1", copies, &movement);
    let session = [("prefix", "'grown' || {i}"), ("ended_at", "{at}")];
    copier.copy("sessions", "ended_at IS NULL", copies / 10, &session);
    // What Postgres learns from so much history.
    if sql.is_postgres() {
        sql.run("VACUUM ANALYZE");
    }
}

/// Copies the first event of an action so often, in no order, to so many moments before it, each a second from the next.
pub fn busy(sql: &mut impl Sql, action: &str, copies: usize, moments: usize) {
    let first = format!("seq = (SELECT min(seq) FROM audit_events WHERE action_id = '{action}')");
    let at = if sql.is_postgres() {
        format!(
            "date_trunc('second', at) - i * 7919 % {moments} * interval '1 second' - interval '0.123456 seconds'"
        )
    } else {
        format!("strftime('%Y-%m-%d %H:%M:%S.876544', at, '-' || (1 + i * 7919 % {moments}) || ' seconds')")
    };
    Copier { sql }.copy("audit_events", &first, copies, &[("id", "{id:9}"), ("at", &at)]);
}

/// Copies rows, again and again, with some columns of each copy its own.
struct Copier<'a, S> {
    sql: &'a mut S,
}

impl<S: Sql> Copier<'_, S> {
    /// So many copies of each row that fulfils the condition. `{i}` in an expression is the number of the copy, `{id}` an
    /// id and `{at}` a moment of its own.
    fn copy(&mut self, table: &str, condition: &str, copies: usize, own: &[(&str, &str)]) {
        let own: BTreeMap<_, _> = own.iter().map(|(column, value)| (*column, self.spelled(value))).collect();
        let columns = self.columns(table);
        let values: Vec<_> =
            columns.iter().map(|column| own.get(column.as_str()).unwrap_or(column).as_str()).collect();
        let (columns, values) = (columns.join(", "), values.join(", "));
        self.sql.run(&format!(
            "INSERT INTO {table} ({columns})
             WITH RECURSIVE copies (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM copies WHERE i < {copies})
             SELECT {values} FROM {table}, copies WHERE {condition}"
        ));
    }

    fn spelled(&self, value: &str) -> String {
        let (id, at) = if self.sql.is_postgres() {
            (
                "'01900000-0000-7000-8000-' || lpad(to_hex({i}), 9, '0') || lpad(to_hex({salt}), 3, '0')",
                "timestamp '2026-01-01' + i * interval '1 second'",
            )
        } else {
            (
                "printf('01900000-0000-7000-8000-%09x%03x', {i}, {salt})",
                "strftime('%Y-%m-%d %H:%M:%f000', 1767225600 + i, 'unixepoch')",
            )
        };
        let with_ids = value.split("{id:").enumerate().map(|(number, part)| match part.split_once('}') {
            Some((salt, rest)) if number > 0 => format!("{}{rest}", id.replace("{salt}", salt)),
            _ => part.to_owned(),
        });
        with_ids.collect::<String>().replace("{at}", at).replace("{i}", "i")
    }

    /// All but the one that the database numbers by itself.
    fn columns(&mut self, table: &str) -> Vec<String> {
        self.sql.texts(&if self.sql.is_postgres() {
            format!(
                "SELECT column_name::text AS t FROM information_schema.columns WHERE table_name = '{table}'
                 AND table_schema = 'public' AND column_name <> 'seq' ORDER BY ordinal_position"
            )
        } else {
            format!("SELECT name AS t FROM pragma_table_info('{table}') WHERE name <> 'seq'")
        })
    }
}
