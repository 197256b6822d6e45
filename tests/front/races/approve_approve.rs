//! Approve × approve: one effect; the loser is told who won and what.

use countersign::store::people::Role;
use futures_util::FutureExt;
use reqwest::StatusCode;
use serde_json::json;

use super::{CONTENDERS, ROUNDS};
use crate::support::races::{race, repeat};
use crate::support::rival::lock_action;
use crate::support::settings::figure;
use crate::support::shop::refund;
use crate::support::{TestApp, backends, races};

races!(approvals_at_once_refund_once, rest_and_the_browser_at_once);
backends!(the_first_approval_wins);

async fn approvals_at_once_refund_once(app: &TestApp) {
    let (one, other) = (app.person(Role::Approver).await, app.person(Role::Owner).await);
    let windows = [one.windows(CONTENDERS / 2), other.windows(CONTENDERS / 2)].concat();
    let books = app.books();
    repeat("approve × approve", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        // Without the versions, nothing but the claim is in the way of a second refund.
        let seen = if round % 2 == 0 {
            one.action(&action).await
        } else {
            one.action_alone(&action).await
        };

        let replies = race(windows.iter().map(|window| window.approving(&seen))).await;

        let (won, lost): (Vec<_>, Vec<_>) = replies.into_iter().partition(|reply| reply.status == 200);
        assert_eq!(won.len(), 1, "{won:?}");
        let winner = &won[0].body["decision"]["by"];
        for loser in lost {
            assert_eq!(loser.code(), "already_decided");
            assert_eq!(loser.body["winner"]["status"], "executed");
            assert_eq!(&loser.body["winner"]["by"], winner);
        }
        assert_eq!(app.order_now(&order).await.refunded_minor, 12_000);
        books.balance();
    })
    .await;
}

async fn rest_and_the_browser_at_once(app: &TestApp) {
    let (program, person) = (app.person(Role::Owner).await, app.person(Role::Approver).await);
    let programs = program.windows(CONTENDERS / 2);
    let windows = app.session(person).await.windows(CONTENDERS / 2);
    let (books, mut clicked) = (app.books(), 0);
    repeat("approve through REST × in the browser", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = program.action(&action).await;

        let calls = programs.iter().map(|program| {
            let reply = program.approving(&seen);
            reply.map(|reply| (reply.status, reply.body.to_string())).boxed()
        });
        let clicks = windows.iter().map(|window| {
            let page = window.approving(&seen);
            page.map(|page| (page.status, page.html)).boxed()
        });
        let told = race(calls.chain(clicks)).await;

        let winner = &program.action(&action).await["decision"]["by"];
        let (lost, won): (Vec<_>, Vec<_>) = told.into_iter().partition(|(status, _)| *status == 409);
        let expected = if winner == &person.email { StatusCode::SEE_OTHER } else { StatusCode::OK };
        assert_eq!(won.iter().map(|(status, _)| *status).collect::<Vec<_>>(), [expected]);
        let by = format!("{} was first", winner.as_str().unwrap());
        assert!(lost.iter().all(|(_, text)| text.contains(&by)), "{lost:?}");
        assert_eq!(app.order_now(&order).await.refunded_minor, 12_000);
        books.balance();
        clicked += usize::from(winner == &person.email);
    })
    .await;
    figure(&format!(
        "approve through REST × in the browser, {}: {clicked} times a click",
        app.database.backend
    ));
}

async fn the_first_approval_wins(app: &TestApp) {
    let people = [app.person(Role::Approver).await, app.person(Role::Owner).await];
    let books = app.books();
    repeat("approve, then approve", app.database.backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = people[0].action(&action).await;

        let approvals = people.map(|person| person.approving(&seen));
        let [first, second] = app.in_order(&lock_action(&action), approvals).await.try_into().unwrap();

        assert_eq!(first.ok()["decision"]["by"], people[0].email);
        assert_eq!(second.code(), "already_decided");
        assert_eq!(second.body["winner"]["by"], json!(people[0].email));
        books.balance();
    })
    .await;
}
