//! The schema comes up to date by itself, whoever starts first.

use crate::support::races::{race, repeat};
use crate::support::{Database, backends};

backends!(processes_that_start_at_once_migrate_once);

async fn processes_that_start_at_once_migrate_once(database: &Database) {
    repeat("processes that migrate at once", database.backend, 20, async |_| {
        let empty = database.backend.empty_database();
        let processes = (0..4).map(|_| {
            let db = empty.open();
            async move { db.migrate().await }
        });
        for outcome in race(processes).await {
            outcome.unwrap();
        }
        empty.open().check_schema().await.unwrap();
    })
    .await;
}
