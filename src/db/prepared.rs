//! Statements that a connection prepares once.

use diesel::{
    QueryResult, RunQueryDsl, Selectable,
    backend::Backend,
    pg::{Pg, PgQueryBuilder},
    query_builder::{AstPass, Query, QueryBuilder, QueryFragment, QueryId},
};

/// A statement that its connection keeps under its text. Diesel by itself prepares anew, each time, whatever may have many
/// texts: SQL of our own, a change, a list of values.
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
    use super::*;

    diesel::table! { spoons (id) { id -> BigInt, length -> Text, } }

    #[derive(Selectable)]
    #[diesel(table_name = spoons)]
    struct Spoon {
        #[expect(dead_code, reason = "named here, not read")]
        length: String,
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
