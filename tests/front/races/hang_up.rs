//! A client disconnects in the middle of a call: a committed request stands, and the retry joins it.

use countersign::store::people::Role;

use super::{CONTENDERS, ROUNDS};
use crate::support::races::repeat;
use crate::support::settings::figure;
use crate::support::shop::{id, refund};
use crate::support::{TestApp, backends, races};

backends!(a_request_outlives_its_connection, an_approval_outlives_its_connection);
races!(connections_that_break_anywhere);

async fn a_request_outlives_its_connection(app: &TestApp) {
    let books = app.books();
    repeat("a request without a client", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let arguments = refund(&order, 12_000);

        let mut somebody = app.rival();
        somebody.begin(&lock_order(&order));
        let call = tokio::spawn(app.agent.processes(1)[0].calling("request_refund", &arguments));
        app.until_blocked(0, 1).await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        somebody.run("COMMIT");
        app.until_quiet().await;

        let retried = app.agent.call("request_refund", arguments).await.ok();
        assert_eq!((&retried["disposition"], &retried["attempt"]), (&"joined".into(), &1.into()));
        books.balance();
    })
    .await;
}

async fn an_approval_outlives_its_connection(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let books = app.books();
    repeat("an approval without a client", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = person.action(&action).await;

        let mut somebody = app.rival();
        somebody.begin(&lock_order(&order));
        let approval = tokio::spawn(person.windows(1)[0].approving(&seen));
        app.until_blocked(0, 1).await;
        approval.abort();
        assert!(approval.await.unwrap_err().is_cancelled());
        somebody.run("COMMIT");
        app.until_quiet().await;

        let retried = person.approve_as_seen(&seen).await;
        assert_eq!(retried.code(), "already_decided");
        assert_eq!(retried.body["winner"]["by"], person.email.as_str());
        assert_eq!(app.order_now(&order).await.refunded_minor, 12_000);
        books.balance();
    })
    .await;
}

async fn connections_that_break_anywhere(app: &TestApp) {
    let processes = app.agent.processes(CONTENDERS);
    let (books, mut stood) = (app.books(), 0);
    repeat("connections that break", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let arguments = |number: usize| refund(&order, 100 + number);
        let calls: Vec<_> = processes
            .iter()
            .enumerate()
            .map(|(number, agent)| tokio::spawn(agent.calling("request_refund", &arguments(number))))
            .collect();
        for call in &calls {
            tokio::time::sleep(std::time::Duration::from_micros(400 * (round as u64 % 8))).await;
            call.abort();
        }
        for (number, call) in calls.into_iter().enumerate() {
            let answered = call.await.ok();
            let retried = app.agent.call("request_refund", arguments(number)).await.ok();
            assert_eq!(retried["attempt"], 1);
            let stands = retried["disposition"] == "joined";
            assert!(answered.is_none_or(|answer| stands && id(&answer.body) == id(&retried)));
            stood += usize::from(stands);
        }
        app.until_quiet().await;
        books.balance();
    })
    .await;
    figure(&format!("connections that break, {}: {stood} requests stood", app.database.backend));
}

fn lock_order(order: &str) -> String {
    format!("UPDATE orders SET version = version WHERE name = '{order}'")
}
