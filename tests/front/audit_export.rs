//! The log as a file.

use std::time::Duration;

use countersign::audit::export::{Export, Format};
use countersign::audit::log::Moment;
use countersign::audit::{self, Actor, Entry, Source, What};
use countersign::kinds::canonical::canonical;
use countersign::store::new_id;
use serde_json::Value;

use crate::support::run::run;
use crate::support::{Backend, TestApp, backends};

backends!(an_export_is_the_whole_log_in_order);
async fn an_export_is_the_whole_log_in_order(app: &TestApp) {
    // More than one page of the export.
    let more = 1_203;
    let clock = app.inner.clock.clone();
    let write = move |conn: &mut _| {
        let now = clock.now(conn)?;
        for number in 0..more {
            let entry = Entry::new(What::Account, Actor::System, &Source::CLI, "done").with("number", number);
            audit::record(conn, &new_id(), now, &entry)?;
        }
        Ok(())
    };
    app.inner.db.write(write).await.unwrap();

    let jsonl = export(app, Format::Jsonl, None, None).await;
    assert_eq!(jsonl, export(app, Format::Jsonl, None, None).await, "the same bytes every time");
    let events: Vec<Value> = jsonl.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sequence: Vec<_> = events.iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert!(sequence.is_sorted_by(|one, next| one < next));
    let numbers: Vec<_> = events.iter().filter_map(|event| event["body"]["number"].as_i64()).collect();
    assert_eq!(numbers, (0..more).collect::<Vec<_>>());
    for (event, line) in events.iter().zip(jsonl.lines()) {
        assert_eq!(canonical(event), line);
    }

    // What happens while it runs is for the next one, or it would never end on a busy server.
    let mut running = Export::new(&app.inner.db, Format::Jsonl, None, None);
    let mut file = running.next().await.unwrap().unwrap();
    app.add_agent("late", &["orders:read"]).await;
    while let Some(piece) = running.next().await.unwrap() {
        file.push_str(&piece);
    }
    assert_eq!(file, jsonl);

    let csv = export(app, Format::Csv, None, None).await;
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(rows.headers().unwrap().iter().take(2).collect::<Vec<_>>(), ["seq", "at"]);
    let rows: Vec<i64> = rows.records().map(|row| row.unwrap()[0].parse().unwrap()).collect();
    assert_eq!(rows.len(), sequence.len() + 1, "by now with the late one");
    assert_eq!(rows[..sequence.len()], sequence);
}

backends!(an_export_keeps_to_its_period);
async fn an_export_keeps_to_its_period(app: &TestApp) {
    let now = {
        let clock = app.inner.clock.clone();
        Moment(app.inner.db.read(move |conn| clock.now(conn)).await.unwrap())
    };
    app.add_agent("late", &["orders:read"]).await;
    let count = |text: String| text.lines().count();
    let (all, before) = (
        export(app, Format::Jsonl, None, None).await,
        export(app, Format::Jsonl, None, Some(now)).await,
    );
    let after = export(app, Format::Jsonl, Some(now), None).await;
    assert_eq!(count(after.clone()), 1);
    assert_eq!(before + &after, all);
    assert_eq!(
        count(export(app, Format::Csv, Some(now), Some(now)).await),
        1,
        "only the names of the columns"
    );
}

backends!(an_export_waits_for_events_that_come_late);
async fn an_export_waits_for_events_that_come_late(app: &TestApp) {
    let write = |name: &'static str, hold: Duration| {
        let (db, clock) = (app.inner.db.clone(), app.inner.clock.clone());
        tokio::spawn(async move {
            let write = move |conn: &mut _| {
                let entry = Entry::new(What::Account, Actor::System, &Source::CLI, "done").with("name", name);
                let now = clock.now(conn)?;
                audit::record(conn, &new_id(), now, &entry)?;
                std::thread::sleep(hold);
                Ok(())
            };
            db.write(write).await.unwrap();
        })
    };
    let slow = write("slow", Duration::from_millis(600));
    tokio::time::sleep(Duration::from_millis(200)).await;
    write("quick", Duration::ZERO).await.unwrap();

    let file = export(app, Format::Jsonl, None, None).await;
    let (slow_one, quick_one) =
        (file.find(r#""name":"slow""#).unwrap(), file.find(r#""name":"quick""#).unwrap());
    assert!(slow_one < quick_one);
    slow.await.unwrap();
}

#[test]
fn an_event_that_a_later_one_overtook_is_in_the_export() {
    run(Backend::Postgres, async |app: &TestApp| {
        // The transaction that began first writes last, and ends first.
        let (mut first, mut second, mut third) = (app.rival(), app.rival(), app.rival());
        first.begin("UPDATE agents SET lock_no = lock_no");
        second.begin(&event("slow"));
        first.run(&event("quick"));
        first.run("COMMIT");
        third.begin(&event("last"));

        let db = app.inner.db.clone();
        let exporting = tokio::spawn(async move {
            let mut file = String::new();
            let mut export = Export::new(&db, Format::Jsonl, None, None);
            while let Some(piece) = export.next().await.unwrap() {
                file.push_str(&piece);
            }
            file
        });
        tokio::time::sleep(Duration::from_millis(500)).await;
        second.run("COMMIT");
        tokio::time::sleep(Duration::from_millis(200)).await;
        third.run("COMMIT");

        let file = exporting.await.unwrap();
        let named: Vec<_> = ["slow", "quick", "last"]
            .iter()
            .map(|name| file.find(&format!(r#""name":"{name}""#)))
            .collect();
        assert!(named.iter().all(Option::is_some), "an event is missing: {named:?}");
        assert!(named.is_sorted(), "{named:?}");
    });
}

#[test]
fn an_export_without_an_end_in_sight_says_so() {
    run(Backend::Postgres, async |app: &TestApp| {
        let mut stuck = app.rival();
        stuck.begin(&event("stuck"));
        let mut export = Export::new(&app.inner.db, Format::Jsonl, None, None);
        while export.next().await.unwrap().is_some() {}
        assert!(export.is_cut_short());
    });
}

/// Writes an event as another program would.
fn event(name: &str) -> String {
    let columns = "id, at, category, event, actor_kind, outcome, denied, body";
    let values = format!("'accounts', 'account', 'system', 'done', false, '{{\"name\":\"{name}\"}}'");
    format!(
        "INSERT INTO audit_events ({columns}) VALUES ('{}', now() AT TIME ZONE 'UTC', {values})",
        new_id()
    )
}

async fn export(app: &TestApp, format: Format, since: Option<Moment>, until: Option<Moment>) -> String {
    let mut export = Export::new(&app.inner.db, format, since, until);
    let mut file = String::new();
    while let Some(piece) = export.next().await.unwrap() {
        file.push_str(&piece);
    }
    assert!(!export.is_cut_short());
    file
}
