//! Statements that a connection prepares once.

use diesel::{
    Connection, QueryResult, RunQueryDsl, Selectable,
    backend::Backend,
    pg::{Pg, PgQueryBuilder},
    query_builder::{AstPass, Query, QueryBuilder, QueryFragment, QueryId},
    sql_types::Integer,
    sqlite::Sqlite,
};

use super::{Conn, conn::MultiBackend};

/// A statement that its connection keeps under its text. Diesel by itself prepares anew, each time, whatever may have many
/// texts: SQL of our own, a change, a list of values, on Postgres a new row.
#[derive(Debug, Clone, Copy)]
pub struct Prepared<Q>(Q);

/// A list of the same values, the last of them repeated until there are 1, 2, 4, 8 or so on: a statement that takes such a
/// list has few texts.
pub fn of_few_lengths<T: Clone>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.into_iter().collect();
    if let Some(last) = values.last().cloned() {
        values.resize(values.len().next_power_of_two(), last);
    }
    values
}

/// The columns that a row is read from, for SQL of our own on either backend. A statement that is kept and says `*` would break
/// when its table gets another column.
pub fn columns<T>() -> String
where
    T: Selectable<Pg>,
    T::SelectExpression: QueryFragment<Pg>,
{
    let mut sql = PgQueryBuilder::new();
    T::construct_selection().to_sql(&mut sql, &Pg).expect("columns have names");
    sql.finish()
}

/// For statements of few texts that run with every call.
pub trait Prepare: Sized {
    fn prepared(self) -> Prepared<Self> {
        Prepared(self)
    }
}

impl<Q: QueryId> Prepare for Q {}

impl<Q> Prepared<Q>
where
    Q: QueryFragment<MultiBackend> + QueryId,
{
    /// Makes a change that answers nothing by itself, and tells how many rows it changed.
    ///
    /// What diesel would not keep by itself is sent as a change that answers its rows: of one that doesn't, it never asks this type
    /// whether it may be kept.
    pub fn execute(self, conn: &mut Conn) -> QueryResult<usize> {
        let backend = match conn {
            Conn::Sqlite(_) => MultiBackend::Sqlite(Sqlite),
            Conn::Postgres(_) => MultiBackend::Postgres(Pg),
        };
        if self.0.is_safe_to_cache_prepared(&backend)? {
            return conn.execute_returning_count(&self.0);
        }
        let rows: Vec<i32> = Prepared(Answering(self.0)).load(conn)?;
        Ok(rows.len())
    }
}

/// A change that answers one number for each row.
struct Answering<Q>(Q);

impl<Q, DB> QueryFragment<DB> for Answering<Q>
where
    Q: QueryFragment<DB>,
    DB: Backend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(" RETURNING 1");
        Ok(())
    }
}

impl<Q> Query for Answering<Q> {
    type SqlType = Integer;
}

impl<Q, DB> QueryFragment<DB> for Prepared<Q>
where
    Q: QueryFragment<DB>,
    DB: Backend,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }

    fn is_safe_to_cache_prepared(&self, _: &DB) -> QueryResult<bool> {
        Ok(true)
    }
}

/// It is known by its text alone.
impl<Q> QueryId for Prepared<Q> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: Query> Query for Prepared<Q> {
    type SqlType = Q::SqlType;
}

impl<Q, C> RunQueryDsl<C> for Prepared<Q> {}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use diesel::{
        SqliteConnection,
        connection::{InstrumentationEvent, SimpleConnection},
        insert_into,
        prelude::*,
        update,
    };

    use super::*;

    diesel::table! { spoons (id) { id -> BigInt, length -> Text, } }

    #[derive(Selectable)]
    #[diesel(table_name = spoons)]
    struct Spoon {
        #[expect(dead_code, reason = "named here, not read")]
        length: String,
    }

    #[test]
    fn a_change_is_kept_and_answers_how_many_rows_it_changed() {
        let mut conn = Conn::Sqlite(SqliteConnection::establish(":memory:").unwrap());
        conn.batch_execute("CREATE TABLE spoons (id INTEGER PRIMARY KEY, length TEXT)").unwrap();
        let kept = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&kept);
        conn.set_instrumentation(move |event: InstrumentationEvent<'_>| {
            if matches!(event, InstrumentationEvent::CacheQuery { .. }) {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        for id in [1, 2, 3] {
            let spoon = (spoons::id.eq(id), spoons::length.eq("short"));
            assert_eq!(insert_into(spoons::table).values(spoon).prepared().execute(&mut conn), Ok(1));
        }
        for (over, changed) in [(0, 3), (1, 2), (3, 0)] {
            let change = update(spoons::table.filter(spoons::id.gt(over))).set(spoons::length.eq("long"));
            assert_eq!(change.prepared().execute(&mut conn), Ok(changed));
        }
        assert_eq!(kept.load(Ordering::Relaxed), 2, "one insert and one update");
    }

    #[test]
    fn columns_are_named() {
        assert_eq!(columns::<Spoon>(), r#""spoons"."length""#);
    }

    #[test]
    fn a_list_has_few_lengths_and_the_same_values() {
        for (values, as_list) in [
            (vec![], vec![]),
            (vec![7], vec![7]),
            (vec![1, 2, 3], vec![1, 2, 3, 3]),
            (vec![1, 2, 3, 4, 5], vec![1, 2, 3, 4, 5, 5, 5, 5]),
        ] {
            assert_eq!(of_few_lengths(values), as_list);
        }
    }
}
