//! A connection beside the application's: what any other program on the same database could do.

use std::panic::resume_unwind;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::sql_types::{BigInt, Text};
use diesel::{
    Connection, PgConnection, QueryResult, QueryableByName, RunQueryDsl, SqliteConnection, sql_query,
};

use countersign::db::{Conn, Db};
use futures_util::future::BoxFuture;

use super::{Backend, Database, TestApp, history};

/// Another program's connection. It has none of the application's settings but a time to wait for SQLite's lock.
pub struct Rival {
    conn: Conn,
    backend: Backend,
}

/// Where rivals connect to.
pub struct Place {
    url: String,
    backend: Backend,
}

impl Place {
    pub fn of(database: &Database) -> Self {
        Self {
            url: database.url.clone(),
            backend: database.backend,
        }
    }

    /// One more connection.
    pub fn rival(&self) -> Rival {
        let conn = match self.backend {
            Backend::Sqlite => {
                let path = self.url.strip_prefix("sqlite://").unwrap();
                let mut conn = SqliteConnection::establish(path).unwrap();
                conn.batch_execute("PRAGMA busy_timeout = 20000").unwrap();
                Conn::Sqlite(conn)
            }
            Backend::Postgres => Conn::Postgres(PgConnection::establish(&self.url).unwrap()),
        };
        Rival {
            conn,
            backend: self.backend,
        }
    }
}

impl Rival {
    pub fn on(database: &Database) -> Self {
        Place::of(database).rival()
    }

    /// Runs statements.
    #[track_caller]
    pub fn run(&mut self, sql: &str) {
        self.try_to(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Runs statements that may be refused.
    pub fn try_to(&mut self, sql: &str) -> QueryResult<()> {
        self.conn.batch_execute(sql)
    }

    /// Begins a transaction that writes: on SQLite it holds the one write lock from now on, on Postgres the rows that
    /// `sql` touches.
    #[track_caller]
    pub fn begin(&mut self, sql: &str) {
        self.run(match self.backend {
            Backend::Sqlite => "BEGIN IMMEDIATE",
            Backend::Postgres => "BEGIN",
        });
        self.run(sql);
    }

    /// The number that a query of one row and one column `n` finds.
    #[track_caller]
    pub fn number(&mut self, sql: &str) -> i64 {
        #[derive(QueryableByName)]
        struct Row {
            #[diesel(sql_type = BigInt)]
            n: i64,
        }
        let row: QueryResult<Row> = sql_query(sql).get_result(&mut self.conn);
        row.unwrap_or_else(|error| panic!("{sql}: {error}")).n
    }

    /// The texts that a query of one column `t` finds.
    #[track_caller]
    pub fn texts(&mut self, sql: &str) -> Vec<String> {
        #[derive(QueryableByName)]
        struct Row {
            #[diesel(sql_type = Text)]
            t: String,
        }
        let rows: QueryResult<Vec<Row>> = sql_query(sql).load(&mut self.conn);
        rows.unwrap_or_else(|error| panic!("{sql}: {error}"))
            .into_iter()
            .map(|row| row.t)
            .collect()
    }

    /// How SQLite means to run a statement, whatever its parameters are.
    #[track_caller]
    pub fn plan(&mut self, sql: &str) -> Vec<String> {
        #[derive(QueryableByName)]
        struct Step {
            #[diesel(sql_type = Text)]
            detail: String,
        }
        let steps: QueryResult<Vec<Step>> =
            sql_query(format!("EXPLAIN QUERY PLAN {sql}")).load(&mut self.conn);
        steps
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
            .into_iter()
            .map(|step| step.detail)
            .collect()
    }

    /// How many rows of a table fulfil a condition.
    #[track_caller]
    pub fn count(&mut self, table: &str, condition: &str) -> i64 {
        self.number(&format!("SELECT COUNT(*) AS n FROM {table} WHERE {condition}"))
    }
}

impl history::Sql for Rival {
    fn is_postgres(&self) -> bool {
        self.backend == Backend::Postgres
    }

    fn run(&mut self, sql: &str) {
        Rival::run(self, sql);
    }

    fn texts(&mut self, sql: &str) -> Vec<String> {
        Rival::texts(self, sql)
    }
}

impl Rival {
    /// From now on each commit of an event passes a turnstile, and waits while somebody holds its row. Postgres only.
    pub fn block_commits(&mut self) {
        self.run(
            "CREATE TABLE turnstile AS SELECT 1 AS one;
             CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN PERFORM one FROM turnstile FOR SHARE; RETURN NEW; END $$;
             CREATE CONSTRAINT TRIGGER pass AFTER INSERT ON audit_events
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pass()",
        );
    }

    /// Waits until no other connection is in the middle of anything. SQLite has no server that could be.
    pub fn until_alone(&mut self) {
        if self.backend == Backend::Sqlite {
            return;
        }
        let others =
            "datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let patience = Instant::now() + Duration::from_secs(10);
        while self.count("pg_stat_activity", others) > 0 {
            assert!(Instant::now() < patience, "a connection of a program that is gone stays");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// How many transactions wait for a lock; SQLite doesn't tell.
    pub fn waiters(&mut self) -> Option<usize> {
        let waiting = "datname = current_database() AND wait_event_type = 'Lock'";
        match self.backend {
            Backend::Sqlite => None,
            Backend::Postgres => self.count("pg_stat_activity", waiting).try_into().ok(),
        }
    }
}

impl TestApp {
    /// Another program on the application's database.
    pub fn rival(&self) -> Rival {
        Rival::on(&self.database)
    }

    /// Waits until so many writes of the served application wait for a lock, beside so many that hold one.
    pub async fn until_blocked(&self, holding: usize, blocked: usize) {
        let patience = Instant::now() + Duration::from_secs(10);
        let mut watcher = self.rival();
        loop {
            let writes = self.inner.db.writes_under_way();
            let waiters = watcher.waiters();
            if writes >= holding + blocked && waiters.is_none_or(|waiters| waiters >= blocked) {
                return;
            }
            assert!(Instant::now() < patience, "{writes} writes under way, {waiters:?} of them blocked");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits until so many transactions on Postgres wait for a lock, whoever began them.
    pub async fn until_waiting(&self, count: usize) {
        let patience = Instant::now() + Duration::from_secs(10);
        let mut watcher = self.rival();
        while watcher.waiters() != Some(count) {
            assert!(Instant::now() < patience, "{:?} wait", watcher.waiters());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits until a transaction on Postgres waits for a lock with a statement that begins so. SQLite has no server that could
    /// tell.
    pub async fn until_waiting_at(&self, statement: &str) {
        if self.database.backend == Backend::Sqlite {
            return;
        }
        let waiting = format!(
            "datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '{statement}%'"
        );
        let (patience, mut watcher) = (Instant::now() + Duration::from_secs(10), self.rival());
        while watcher.count("pg_stat_activity", &waiting) == 0 {
            assert!(Instant::now() < patience, "nobody waits at {statement}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits until the served application writes nothing.
    pub async fn until_quiet(&self) {
        let patience = Instant::now() + Duration::from_secs(10);
        while self.inner.db.writes_under_way() > 0 {
            assert!(Instant::now() < patience, "a write does not end");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Lets contenders in one after the other: somebody holds what `lock` touches until all of them wait for it, and then
    /// thinks better of it. Returns what they returned, in their order.
    pub async fn in_order<T: Send + 'static>(
        &self,
        lock: &str,
        contenders: impl IntoIterator<Item = BoxFuture<'static, T>>,
    ) -> Vec<T> {
        let mut rival = self.rival();
        rival.begin(lock);
        let mut waiting = Vec::new();
        for contender in contenders {
            waiting.push(tokio::spawn(contender));
            self.until_blocked(0, waiting.len()).await;
        }
        // On Postgres a commit would make a new version of the row, for which all of them race.
        rival.run("ROLLBACK");
        let mut outcomes = Vec::new();
        for contender in waiting {
            outcomes.push(contender.await.unwrap_or_else(|error| resume_unwind(error.into_panic())));
        }
        outcomes
    }

    /// Lets a contender in behind somebody's `change`, which is under way when it comes and committed before it can go on.
    pub async fn behind<T: Send + 'static>(&self, change: &str, contender: BoxFuture<'static, T>) -> T {
        let mut rival = self.rival();
        rival.begin(change);
        let waiting = tokio::spawn(contender);
        self.until_blocked(0, 1).await;
        rival.run("COMMIT");
        waiting.await.unwrap_or_else(|error| resume_unwind(error.into_panic()))
    }
}

/// Waits until a write on the database is under way.
pub async fn until_writing(db: &Db) {
    let patience = Instant::now() + Duration::from_secs(10);
    while db.writes_under_way() == 0 {
        assert!(Instant::now() < patience, "nothing is written");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A statement that locks an action and leaves it as it is.
pub fn lock_action(id: &str) -> String {
    format!("UPDATE actions SET lock_no = lock_no WHERE id = '{id}'")
}

impl Backend {
    /// A statement after which no event can be written.
    pub fn break_the_log(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "CREATE TRIGGER broken BEFORE INSERT ON audit_events BEGIN SELECT RAISE(ABORT, 'no more paper'); END"
            }
            Self::Postgres => {
                "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION 'no more paper'; END $$;
                 CREATE TRIGGER broken BEFORE INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION broken()"
            }
        }
    }

    /// A statement that undoes it.
    pub fn mend_the_log(self) -> &'static str {
        match self {
            Self::Sqlite => "DROP TRIGGER broken",
            Self::Postgres => "DROP TRIGGER broken ON audit_events; DROP FUNCTION broken",
        }
    }
}
