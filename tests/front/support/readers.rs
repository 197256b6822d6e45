//! The connections to Postgres that the served application reads by.

use std::time::Duration;

use countersign::db::{Conn, Prepare, QueryResult};
use diesel::sql_types::{BigInt, Integer};
use diesel::{QueryableByName, RunQueryDsl, sql_query};
use futures_util::future::join_all;

use super::TestApp;

/// How many there are.
pub const READERS: usize = 8;

impl TestApp {
    /// Does something by each of them, and answers what each came to.
    pub async fn by_all_readers<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Conn) -> QueryResult<T> + Clone + Send + 'static,
    ) -> Vec<T> {
        #[derive(QueryableByName)]
        struct Place {
            #[diesel(sql_type = Integer)]
            pid: i32,
        }
        let at_once = (0..READERS).map(|_| {
            let work = work.clone();
            self.inner.db.read(move |conn| {
                // Until everybody has one.
                std::thread::sleep(Duration::from_millis(300));
                let place: Place = sql_query("SELECT pg_backend_pid() AS pid").get_result(conn)?;
                work(conn).map(|outcome| (place.pid, outcome))
            })
        });
        let mut outcomes: Vec<_> = join_all(at_once).await.into_iter().map(Result::unwrap).collect();
        outcomes.sort_by_key(|(pid, _)| *pid);
        outcomes.dedup_by_key(|(pid, _)| *pid);
        assert_eq!(outcomes.len(), READERS, "each is another");
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    /// How many of them keep the statement that asks them, the round's own.
    pub async fn readers_that_keep(&self, round: &str) -> usize {
        #[derive(QueryableByName)]
        struct Row {
            #[diesel(sql_type = BigInt)]
            n: i64,
        }
        let asking = format!(
            "SELECT COUNT(*) AS n FROM pg_catalog.pg_prepared_statements WHERE statement LIKE '%kept {round}%'"
        );
        let ask = move |conn: &mut Conn| sql_query(&asking).prepared().get_result::<Row>(conn);
        self.by_all_readers(ask).await.into_iter().filter(|row| row.n > 0).count()
    }
}
