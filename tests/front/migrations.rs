//! The schema comes up to date by itself, whoever starts first.

use countersign::error::Error;

use crate::support::program::Program;
use crate::support::races::{race, repeat};
use crate::support::{Database, TestApp, backends};

backends!(
    processes_that_start_at_once_migrate_once,
    programs_that_start_at_once,
    who_has_nothing_to_migrate_waits_for_nobody,
    a_newer_schema_is_refused
);

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

async fn programs_that_start_at_once(database: &Database) {
    let empty = database.backend.empty_database();
    let program = Program::on(&empty);
    let started: Vec<_> = (0..4).map(|_| program.command(&["migrate"]).spawn().unwrap()).collect();
    for mut process in started {
        assert!(process.wait().unwrap().success());
    }
    empty.open().check_schema().await.unwrap();
}

async fn who_has_nothing_to_migrate_waits_for_nobody(app: &TestApp) {
    let mut rival = app.rival();
    rival.begin("UPDATE orders SET version = version");
    app.inner.db.migrate().await.unwrap();
    rival.run("ROLLBACK");
}

async fn a_newer_schema_is_refused(app: &TestApp) {
    app.rival().run(
        "INSERT INTO __diesel_schema_migrations (version, run_on) VALUES ('99991231', CURRENT_TIMESTAMP)",
    );
    let before = app.rival().everything();
    for refused in [app.inner.db.migrate().await, app.inner.db.check_schema().await] {
        let Err(Error::Setup(sentence)) = refused else {
            panic!("not refused: {refused:?}")
        };
        assert!(sentence.contains("99991231") && sentence.contains("newer than this binary"), "{sentence}");
    }
    assert_eq!(reqwest::get(format!("{}/readyz", app.url)).await.unwrap().status(), 503);
    let said = Program::on(&app.database).run(&["serve", "--listen", "127.0.0.1:0"]).sentence();
    assert!(said.contains("99991231"), "{said}");
    assert_eq!(app.rival().everything(), before);
}
