//! Writes that are under way at the same time, whatever becomes of each: on SQLite they share one transaction, and nobody
//! may notice.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use countersign::db::{Conn, Db, QueryError, QueryResult, savepoint};
use countersign::error::{Error, Result};
use diesel::{RunQueryDsl, sql_query};
use tokio::task::JoinHandle;

use crate::support::rival::Rival;
use crate::support::run::run;
use crate::support::{Backend, Database, backends};

backends!(
    each_gets_its_own_answer,
    whoever_breaks_the_commit_breaks_it_alone,
    nothing_is_seen_or_told_before_the_commit,
);

async fn each_gets_its_own_answer(database: &Database) {
    let table = Table::in_a(database);
    let held = table.hold(0).await;
    let good = table.insert(1, 10);
    let undone = table.write(|conn| insert(conn, 2, 10).and(Err::<(), _>(QueryError::RollbackTransaction)));
    let broken_rule = table.insert(3, 0);
    let panicking = table.write(|conn| {
        insert(conn, 4, 10)?;
        savepoint(conn, |conn| -> QueryResult<()> {
            insert(conn, 5, 10)?;
            panic!("a closure that panics, on purpose")
        })
    });
    let refused = table.write(|conn| Ok(savepoint(conn, |conn| insert(conn, 6, 0))?.is_none()));
    let late = table.insert(7, 10);
    table.until_queued(6).await;
    held.release().await;

    assert!(good.await.unwrap().is_ok() && late.await.unwrap().is_ok());
    assert!(refused.await.unwrap().unwrap(), "what a savepoint refuses is an answer");
    let errors = [undone.await.unwrap().unwrap_err(), broken_rule.await.unwrap().unwrap_err()];
    assert!(errors[0].to_string().contains("rollback"), "{}", errors[0]);
    assert!(errors[1].to_string().to_lowercase().contains("check"), "{}", errors[1]);
    let panic = panicking.await.unwrap().unwrap_err();
    assert!(matches!(panic, Error::Internal(_)), "{panic}");
    assert_eq!(table.rows(), ["0", "1", "7"]);
    assert!(table.insert(8, 10).await.unwrap().is_ok(), "the writer goes on");
}

async fn whoever_breaks_the_commit_breaks_it_alone(database: &Database) {
    until_shared(database, async |table| {
        let held = table.hold(0).await;
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = |id: i64| {
            let runs = Arc::clone(&runs);
            table.write(move |conn| {
                runs.fetch_add(1, Ordering::SeqCst);
                insert(conn, id, 10)
            })
        };
        let before = counted(1);
        let breaking = table.write(|conn| sql_query("INSERT INTO apart VALUES (404)").execute(conn));
        let after = counted(2);
        table.until_queued(3).await;
        held.release().await;

        assert!(before.await.unwrap().is_ok() && after.await.unwrap().is_ok());
        let error = breaking.await.unwrap().unwrap_err().to_string();
        assert!(error.to_lowercase().contains("foreign key"), "{error}");
        assert_eq!(table.rows(), ["0", "1", "2"]);
        let runs = runs.load(Ordering::SeqCst);
        if database.backend == Backend::Postgres {
            assert_eq!(runs, 2);
            return true;
        }
        // Each once in the transaction that was lost, and once alone.
        assert!((2..=4).contains(&runs), "{runs}");
        runs == 4
    })
    .await;
}

async fn nothing_is_seen_or_told_before_the_commit(database: &Database) {
    until_shared(database, async |table| {
        let first = table.hold(0).await;
        let between = table.insert(1, 10);
        table.until_queued(1).await;
        let last = table.begin_to_hold(2);
        table.until_queued(2).await;
        if database.backend == Backend::Postgres {
            // There each has its own transaction.
            assert!(between.await.unwrap().is_ok());
            first.release().await;
            last.until_held().await.release().await;
            return true;
        }
        first.let_go();
        let last = last.until_held().await;
        let seen = table.rows();
        let told = usize::from(first.is_answered()) + usize::from(between.is_finished());
        assert!(told <= seen.len(), "{told} were told of their commit, and {seen:?} are committed");
        assert!(!seen.contains(&"2".to_owned()), "the last has run, and is not committed");
        last.release().await;
        assert!(between.await.unwrap().is_ok());
        assert_eq!(table.rows(), ["0", "1", "2"]);
        seen.is_empty()
    })
    .await;
}

/// Does a round again until it answers that its writes have shared one transaction: on a busy machine the clock may have
/// closed that before it took up all of them.
async fn until_shared(database: &Database, round: impl AsyncFn(&Table<'_>) -> bool) {
    for _ in 0..50 {
        if round(&Table::in_a(database)).await {
            return;
        }
    }
    panic!("in fifty rounds the writes never shared a transaction");
}

#[test]
fn a_transaction_that_ends_in_the_middle_is_told_to_whoever_ended_it() {
    run(Backend::Sqlite, async |database: &Database| {
        let table = Table::in_a(database);
        Rival::on(database).run(
            "CREATE TRIGGER ending BEFORE INSERT ON together WHEN NEW.worth = 13
             BEGIN SELECT RAISE(ROLLBACK, 'it is all over'); END",
        );
        let held = table.hold(0).await;
        let (before, ending) = (table.insert(1, 10), table.insert(2, 13));
        let ending_within = table.write(|conn| Ok(savepoint(conn, |conn| insert(conn, 3, 13))?.is_none()));
        let after = table.insert(4, 10);
        table.until_queued(4).await;
        held.release().await;
        assert!(before.await.unwrap().is_ok() && after.await.unwrap().is_ok());
        let errors = [ending.await.unwrap().unwrap_err(), ending_within.await.unwrap().unwrap_err()];
        for error in errors {
            assert!(error.to_string().contains("it is all over"), "{error}");
        }
        assert_eq!(table.rows(), ["0", "1", "4"]);
    });
}

#[test]
fn a_write_that_gave_up_waiting_is_never_done() {
    run(Backend::Sqlite, async |database: &Database| {
        let table = Table::in_a(database);
        let held = table.hold(0).await;
        let error = table.insert(1, 10).await.unwrap().unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error}");
        held.release().await;
        assert!(table.insert(2, 10).await.unwrap().is_ok());
        assert_eq!(table.rows(), ["0", "2"]);
    });
}

#[test]
fn more_than_can_wait_is_turned_away_at_once() {
    run(Backend::Sqlite, async |database: &Database| {
        let table = Table::in_a(database);
        let held = table.hold(0).await;
        let writes: Vec<_> = (1..=2_000).map(|id| table.insert(id, 10)).collect();
        while writes.iter().filter(|write| write.is_finished()).count() < 976 {
            tokio::task::yield_now().await;
        }
        held.release().await;
        let mut done = 0;
        for write in writes {
            match write.await.unwrap() {
                Ok(()) => done += 1,
                Err(error) => assert!(matches!(error, Error::Unavailable(_)), "{error}"),
            }
        }
        assert_eq!((done, table.rows().len()), (1_024, 1_025));
    });
}

/// A table of numbers that are worth something, and one whose rows must have a number by the commit.
struct Table<'a> {
    database: &'a Database,
    db: Db,
}

impl<'a> Table<'a> {
    fn in_a(database: &'a Database) -> Self {
        Rival::on(database).run(
            "DROP TABLE IF EXISTS apart;
             DROP TABLE IF EXISTS together;
             CREATE TABLE together (id BIGINT PRIMARY KEY, worth BIGINT NOT NULL CHECK (worth > 0));
             CREATE TABLE apart (id BIGINT REFERENCES together (id) DEFERRABLE INITIALLY DEFERRED)",
        );
        Self {
            database,
            db: database.open(),
        }
    }

    fn rows(&self) -> Vec<String> {
        Rival::on(self.database).texts("SELECT CAST(id AS TEXT) AS t FROM together ORDER BY id")
    }

    fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Conn) -> QueryResult<T> + Send + 'static,
    ) -> JoinHandle<Result<T>> {
        let db = self.db.clone();
        tokio::spawn(async move { db.write(work).await })
    }

    fn insert(&self, id: i64, worth: i64) -> JoinHandle<Result<()>> {
        self.write(move |conn| insert(conn, id, worth))
    }

    /// Waits until so many writes are held up by the one that holds; on Postgres it holds up nobody.
    async fn until_queued(&self, writes: usize) {
        while self.database.backend == Backend::Sqlite && self.db.writes_under_way() < writes + 1 {
            tokio::task::yield_now().await;
        }
    }

    async fn hold(&self, id: i64) -> Held {
        self.begin_to_hold(id).until_held().await
    }

    /// A write that inserts its row and then stays where it is.
    fn begin_to_hold(&self, id: i64) -> Holding {
        let (held, is_held) = tokio::sync::mpsc::unbounded_channel();
        let (go, may_go) = mpsc::channel::<()>();
        let may_go = std::sync::Mutex::new(may_go);
        let write = self.write(move |conn| {
            insert(conn, id, 10)?;
            let _ = held.send(());
            // For ever after it was let go: it may run again.
            let _ = may_go.lock().unwrap().recv();
            Ok(())
        });
        Holding { write, is_held, go }
    }
}

struct Holding {
    write: JoinHandle<Result<()>>,
    is_held: tokio::sync::mpsc::UnboundedReceiver<()>,
    go: mpsc::Sender<()>,
}

impl Holding {
    async fn until_held(mut self) -> Held {
        self.is_held.recv().await.unwrap();
        Held {
            write: self.write,
            go: Some(self.go).into(),
        }
    }
}

struct Held {
    write: JoinHandle<Result<()>>,
    go: std::cell::Cell<Option<mpsc::Sender<()>>>,
}

impl Held {
    fn let_go(&self) {
        drop(self.go.take());
    }

    fn is_answered(&self) -> bool {
        self.write.is_finished()
    }

    async fn release(self) {
        self.let_go();
        self.write.await.unwrap().unwrap();
    }
}

fn insert(conn: &mut Conn, id: i64, worth: i64) -> QueryResult<()> {
    let row = format!("INSERT INTO together VALUES ({id}, {worth})");
    sql_query(row).execute(conn).map(|_| ())
}
