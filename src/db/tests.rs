//! Where a look-up runs, and how connections are set.

use std::{
    panic::resume_unwind,
    sync::{Arc, Barrier},
    thread::{self, ThreadId},
};

use diesel::{QueryableByName, RunQueryDsl, sql_query, sql_types::BigInt};

use super::{Conn, Db, QueryError, QueryResult, pool::SQLITE_READERS};

const READERS: usize = SQLITE_READERS as usize;

fn database() -> (tempfile::TempDir, Db) {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite://{}", folder.path().join("c.db").display());
    let db = Db::open(&url.parse().expect("a URL")).expect("pools");
    (folder, db)
}

async fn place(db: &Db) -> ThreadId {
    db.look_up(|_| Ok(thread::current().id())).await.expect("an answer")
}

/// How long SQLite waits for a lock on this connection, in milliseconds.
fn patience(conn: &mut Conn) -> QueryResult<i64> {
    setting(conn, "SELECT timeout AS value FROM pragma_busy_timeout")
}

fn setting(conn: &mut Conn, query: &str) -> QueryResult<i64> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = BigInt)]
        value: i64,
    }
    sql_query(query).get_result(conn).map(|row: Row| row.value)
}

#[tokio::test]
async fn a_look_up_runs_where_it_is_called_and_does_not_wait_there() {
    let (_folder, db) = database();
    let here = thread::current().id();
    assert_ne!(place(&db).await, here, "there was no connection yet");
    assert_eq!(place(&db).await, here);
    assert_eq!(db.look_up(patience).await.expect("an answer"), 0);
    assert_eq!(db.read(patience).await.expect("an answer"), 5000, "on the same connection");
}

#[tokio::test]
async fn what_fails_there_is_done_again_elsewhere() {
    let (_folder, db) = database();
    let here = thread::current().id();
    let failures: [fn() -> QueryError; 2] =
        [|| QueryError::RollbackTransaction, || resume_unwind(Box::new("in a look-up"))];
    for failure in failures {
        place(&db).await;
        let elsewhere = db.look_up(move |_| match thread::current().id() {
            id if id == here => Err(failure()),
            id => Ok(id),
        });
        assert_ne!(elsewhere.await.expect("an answer"), here);
        assert_eq!(place(&db).await, here, "its connection is as it was, or another's");
        assert_eq!(db.read(patience).await.expect("an answer"), 5000);
    }
}

#[tokio::test]
async fn a_look_up_waits_for_its_turn_elsewhere() {
    let (_folder, db) = database();
    let here = thread::current().id();
    place(&db).await;
    assert_eq!(place(&db).await, here);
    let [all_read, all_may_end] = [(); 2].map(|()| Arc::new(Barrier::new(READERS + 1)));
    for _ in 0..READERS {
        let (reads, may_end) = (Arc::clone(&all_read), Arc::clone(&all_may_end));
        let db = db.clone();
        tokio::spawn(async move {
            let reading = db.read(move |_| {
                reads.wait();
                may_end.wait();
                Ok(())
            });
            reading.await
        });
    }
    let others = |barrier: Arc<Barrier>| tokio::task::spawn_blocking(move || barrier.wait());
    others(all_read).await.expect("no panic");
    let looking = tokio::spawn({
        let db = db.clone();
        async move { place(&db).await }
    });
    tokio::task::yield_now().await;
    others(all_may_end).await.expect("no panic");
    assert_ne!(looking.await.expect("no panic"), here);
}

#[tokio::test]
async fn after_migrations_a_writer_keeps_in_memory_what_it_may_undo() {
    let (_folder, db) = database();
    let temp_store = |conn: &mut Conn| setting(conn, "SELECT temp_store AS value FROM pragma_temp_store");
    assert_eq!(db.write(temp_store).await.expect("an answer"), 2);
    db.migrate().await.expect("migrations");
    assert_eq!(db.write(temp_store).await.expect("an answer"), 2, "on the one connection that writes");
}
