//! Where a look-up runs.

use std::thread::{self, ThreadId};

use diesel::{QueryableByName, RunQueryDsl, sql_query, sql_types::BigInt};

use super::{Conn, Db, QueryError, QueryResult};

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
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = BigInt)]
        timeout: i64,
    }
    sql_query("SELECT timeout FROM pragma_busy_timeout")
        .get_result(conn)
        .map(|row: Row| row.timeout)
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
    let failures: [fn() -> QueryError; 2] = [|| QueryError::RollbackTransaction, || panic!("in a look-up")];
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
