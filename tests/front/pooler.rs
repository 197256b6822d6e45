//! Postgres behind a pooler in transaction mode: no statement may count on the connection that another one had.

use countersign::store::people::Role;
use serde_json::json;

use crate::support::pooler::Pooler;
use crate::support::races::race;
use crate::support::run::{Fixture, run};
use crate::support::shop::refund;
use crate::support::{Backend, TestApp};

const CALLERS: usize = 8;
const CALLS: usize = 25;

#[test]
fn everybody_gets_their_own_answer_behind_a_pooler() {
    run(Backend::Postgres, async |backend: &Backend| {
        let database = backend.fresh_database();
        let pooler = Pooler::before(&database).await;
        let app = TestApp::at(&pooler.url, database).await;
        let second = app.another_server_with(|config| config.database_url = pooler.url.parse().unwrap());
        for caller in 0..CALLERS {
            app.order(&format!("#{caller}"), 1_000_000).await;
        }
        let books = app.books();
        let person = app.person(Role::Approver).await;
        let callers = app.agent.processes(CALLERS).into_iter().zip(person.windows(CALLERS)).enumerate();
        let work = callers.map(|(caller, (agent, person))| {
            let (url, order) = (second.url.clone(), format!("#{caller}"));
            async move {
                let (agent, person) = if caller % 2 == 0 {
                    (agent, person)
                } else {
                    (agent.at(&url), person.at(&url))
                };
                for call in 1..=CALLS {
                    let read = agent.call("get_order", json!({ "order_id": order })).await.ok();
                    assert_eq!(read["order_id"], order.as_str());
                    let asked = agent.call("request_refund", refund(&order, call)).await.ok();
                    assert_eq!(asked["disposition"], "new");
                    let mut seen = person.action(asked["action_id"].as_str().unwrap()).await;
                    seen.as_object_mut().unwrap().remove("subject_versions");
                    assert_eq!(person.approve_as_seen(&seen).await.ok()["status"], "executed");
                }
            }
        });
        race(work.collect::<Vec<_>>()).await;

        let given_back = i64::try_from(CALLS * (CALLS + 1) / 2).unwrap();
        for caller in 0..CALLERS {
            assert_eq!(app.order_now(&format!("#{caller}")).await.refunded_minor, given_back);
        }
        books.balance();
        app.session(person).await;
        second.stop().await;
        app.tear_down().await;
    });
}
