//! What several processes on one database share: the budget of writes, the decisions, and each other's rows.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use countersign::store::people::Role;
use serde_json::json;

use super::ROUNDS;
use crate::support::races::{race, repeat};
use crate::support::run::Fixture;
use crate::support::shop::{id, refund};
use crate::support::{Backend, TestApp, backends};

backends!(
    one_budget_for_all_processes,
    a_decision_in_one_process_wakes_the_others,
    sweepers_of_two_processes_meet
);

/// Three times the budget.
const CALLS: usize = 30;

async fn one_budget_for_all_processes(backend: &Backend) {
    let app = TestApp::on_several_processes(*backend, "10/min:10").await;
    let books = app.books();
    repeat("ten writes a minute, three processes", *backend, ROUNDS / 10, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let agent = app.add_agent(&format!("{round}"), &["orders:write"]).await;
        let processes = agent.processes(CALLS);
        for minute in 0..2 {
            let begun = Instant::now();
            let calls = processes.iter().enumerate().map(|(number, agent)| {
                agent.calling("request_refund", &refund(&order, 1 + minute * CALLS + number))
            });
            let (refused, opened): (Vec<_>, Vec<_>) =
                race(calls).await.into_iter().partition(|answer| answer.is_error);
            assert!(refused.iter().all(|answer| answer.code() == "rate_limited"), "{refused:?}");
            // A token comes back every six seconds.
            let most = 10 + usize::try_from(begun.elapsed().as_secs() / 6).unwrap();
            assert!((10..=most).contains(&opened.len()), "{} of {most}", opened.len());
            app.time().shift(TimeDelta::minutes(1));
        }
        books.balance();
    })
    .await;
    app.tear_down().await;
}

async fn a_decision_in_one_process_wakes_the_others(backend: &Backend) {
    let app = TestApp::on_several_processes(*backend, "off").await;
    let (person, processes) = (app.person(Role::Approver).await, app.agent.processes(3));
    let windows = person.windows(4);
    repeat("woken in three processes", *backend, ROUNDS / 10, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        for number in 0..5 {
            let action = app.ask("request_refund", refund(&order, 100 + number)).await;
            let wait = json!({ "action_id": action, "wait_seconds": 50 });
            let waiting: Vec<_> = processes
                .iter()
                .map(|agent| tokio::spawn(agent.calling("get_action_status", &wait)))
                .collect();
            tokio::time::sleep(Duration::from_millis(300)).await;

            let begun = Instant::now();
            match number {
                0 => drop(windows[0].approve(&action).await.ok()),
                1 => drop(windows[2].reject(&action, "No").await.ok()),
                _ => {
                    let taken = processes[number - 2].call("withdraw_action", json!({ "action_id": action }));
                    assert_eq!(id(&taken.await.ok()), action);
                }
            }
            let status = ["executed", "rejected", "withdrawn"][number.min(2)];
            for answer in waiting {
                assert_eq!(answer.await.unwrap().ok()["status"], status);
            }
            let took = begun.elapsed();
            assert!(took < Duration::from_secs(5), "woken after {took:?}");
        }
    })
    .await;
    drop(processes);
    app.tear_down().await;
}

/// One is stopped while it holds the row that the other is after.
async fn sweepers_of_two_processes_meet(backend: &Backend) {
    let app = TestApp::on_several_processes(*backend, "off").await;
    let (books, elsewhere) = (app.books(), app.elsewhere.as_ref().unwrap());
    repeat("a sweeper of another process in the way", *backend, ROUNDS / 20, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        app.ask("request_refund", refund(&order, 100)).await;
        elsewhere.failpoints.arm("locked");
        elsewhere.shift(TimeDelta::minutes(31));
        elsewhere.failpoints.until_reached("locked").await;
        app.inner.clock.shift(TimeDelta::minutes(31));
        let gate = app.inner.gate.clone();
        let here = tokio::spawn(async move { gate.sweep().await.unwrap() });
        app.until_blocked(0, 1).await;
        elsewhere.failpoints.release("locked");

        assert_eq!(here.await.unwrap(), 0, "the other was there before");
        assert_eq!(app.rival().count("actions", "status = 'pending'"), 0);
        books.balance();
    })
    .await;
    app.tear_down().await;
}
