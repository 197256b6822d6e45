//! Whoever waited for a lock judges by the time at which it was had, not by the time at which it was asked for.

use chrono::TimeDelta;
use countersign::config::{Lifetime, Rate};
use countersign::store::people::Role;

use super::ROUNDS;
use crate::support::races::repeat;
use crate::support::shop::refund;
use crate::support::{Backend, TestApp, backends};

backends!(
    a_session_that_ends_during_a_wait_decides_nothing,
    tokens_that_come_back_during_a_wait_count
);

async fn a_session_that_ends_during_a_wait_decides_nothing(backend: &Backend) {
    let long: Lifetime = "3000d".parse().unwrap();
    let app = TestApp::with(*backend, |config| config.action_ttl = long).await;
    let approver = app.person(Role::Approver).await;
    let session = app.session(approver).await;
    repeat("signed out by the clock while waiting", *backend, ROUNDS, async |round| {
        let order = app.order(&format!("#{round}"), 50_000).await.name;
        let action = app.ask("request_refund", refund(&order, 12_000)).await;
        let seen = approver.action(&action).await;

        let mut rival = app.rival();
        rival.begin("UPDATE people SET lock_no = lock_no");
        let approval = tokio::spawn(session.approving(&seen));
        app.until_blocked(0, 1).await;
        app.inner.clock.shift(TimeDelta::hours(13));
        rival.run("ROLLBACK");
        let page = approval.await.unwrap();
        app.inner.clock.shift(TimeDelta::hours(-13));

        assert!(page.status.is_client_error() || page.location.as_deref() == Some("/login"), "{page:?}");
        assert_eq!(approver.action(&action).await["status"], "pending");
        assert_eq!(app.order_now(&order).await.refunded_minor, 0);
    })
    .await;
}

async fn tokens_that_come_back_during_a_wait_count(backend: &Backend) {
    let slow: Rate = "1/h:1".parse().unwrap();
    let app = TestApp::with(*backend, |config| config.write_rate = slow).await;
    let order = app.order("#1001", 50_000).await.name;
    repeat("a write token that comes back while waiting", *backend, ROUNDS, async |round| {
        let agent = app.add_agent(&format!("{round}"), &["orders:read", "orders:write"]).await;
        agent.call("request_refund", refund(&order, 1)).await.ok();

        let mut rival = app.rival();
        rival.begin("UPDATE write_buckets SET arrival_at = arrival_at");
        let request = tokio::spawn(agent.calling("request_refund", &refund(&order, 2)));
        app.until_blocked(0, 1).await;
        app.inner.clock.shift(TimeDelta::minutes(61));
        rival.run("ROLLBACK");

        assert_eq!(request.await.unwrap().ok()["disposition"], "new");
    })
    .await;
}
