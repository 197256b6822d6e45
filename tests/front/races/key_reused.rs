//! The same key with different params: `idempotency_key_reused`, also while the first is in flight.

use super::{CONTENDERS, ROUNDS};
use crate::support::held::GatedApp;
use crate::support::races::{race, repeat};
use crate::support::shop::{id, refund, with_key};
use crate::support::{TestApp, backends, races};

races!(sixteen_writes_under_one_key);
backends!(another_write_while_the_first_is_in_flight, the_first_is_refused_while_the_second_waits);

async fn sixteen_writes_under_one_key(app: &TestApp) {
    let processes = app.agent.processes(CONTENDERS);
    let books = app.books();
    repeat("one key, sixteen writes", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let calls = processes.iter().enumerate().map(|(number, agent)| {
            let arguments = with_key(refund(&order, 100 + number), format!("ticket {round}"));
            agent.calling("request_refund", &arguments)
        });

        let (lost, won): (Vec<_>, Vec<_>) = race(calls).await.into_iter().partition(|answer| answer.is_error);

        assert_eq!(won.len(), 1);
        assert!(lost.iter().all(|answer| answer.code() == "idempotency_key_reused"), "{lost:?}");
        assert_eq!(app.rival().count("actions", &format!("slot_key = 'e:ticket {round}'")), 1);
        books.balance();
    })
    .await;
}

async fn another_write_while_the_first_is_in_flight(GatedApp { app, gate }: &GatedApp) {
    let books = app.books();
    repeat("one key, another write in flight", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let [one, other] = [100, 200].map(|amount| {
            let arguments = with_key(refund(&order, amount), format!("ticket {round}"));
            app.agent.calling("request_refund", &arguments)
        });

        gate.shut();
        let one = tokio::spawn(one);
        gate.until_reached().await;
        let other = tokio::spawn(other);
        app.until_blocked(1, 1).await;
        gate.open();

        let stored = one.await.unwrap().ok();
        assert_eq!(other.await.unwrap().code(), "idempotency_key_reused");
        assert_eq!(stored["summary"], format!("Refund INR 1.00 on order {order}"));
        assert_eq!(
            app.rival().texts("SELECT action_id AS t FROM slots ORDER BY action_id DESC LIMIT 1"),
            [id(&stored)]
        );
        books.balance();
    })
    .await;
}

/// The first takes the slot, and gives it back unused: then the second is the first.
async fn the_first_is_refused_while_the_second_waits(GatedApp { app, gate }: &GatedApp) {
    let books = app.books();
    repeat("one key, the first is refused", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let is_same = round % 2 == 0;
        let [one, other] = [60_000, if is_same { 60_000 } else { 200 }]
            .map(|amount| with_key(refund(&order, amount), format!("ticket {round}")));

        let refused = || app.rival().count("audit_events", "denied AND outcome = 'rule_refused'");
        let before = refused();
        gate.shut();
        let first = tokio::spawn(app.agent.calling("request_refund", &one));
        gate.until_reached().await;
        let second = tokio::spawn(app.agent.calling("request_refund", &other));
        app.until_blocked(1, 1).await;
        app.until_waiting_at("INSERT INTO slots").await;
        gate.open();

        let (first, second) = (first.await.unwrap(), second.await.unwrap());
        assert_eq!(first.body["error"]["rule"], "exceeds_refundable", "{first:?}");
        let slots = || app.rival().count("slots", &format!("key = 'e:ticket {round}'"));
        if is_same {
            assert_eq!(second.body["error"]["rule"], "exceeds_refundable", "{second:?}");
            assert_eq!(slots(), 0, "a refused request consumes no key");
            app.rival().run(&format!("UPDATE orders SET total_minor = 60000 WHERE name = '{order}'"));
            assert_eq!(app.agent.call("request_refund", one).await.ok()["disposition"], "new");
        } else {
            assert_eq!(second.ok()["disposition"], "new");
            assert_eq!(app.agent.call("request_refund", one).await.code(), "idempotency_key_reused");
        }
        assert_eq!(slots(), 1);
        assert_eq!(refused() - before, if is_same { 2 } else { 1 }, "each refusal has its event");
        books.balance();
    })
    .await;
}
