//! A competing transaction holds a lock for longer than anybody waits: `unavailable`, which may be sent again; no row, and
//! no word of SQL.
//!
//! SQLite has one lock, which `BEGIN` waits for. On Postgres the first statement waits, one in the middle, or the commit.

use countersign::store::people::Role;
use serde_json::Value;

use super::ROUNDS;
use crate::support::races::{race, repeat};
use crate::support::rival::Rival;
use crate::support::shop::{refund, with_key};
use crate::support::{Backend, TestApp, backends};

/// More than the pool has connections: some wait for one in vain.
const CALLERS: usize = 20;

backends!(whoever_is_locked_out_may_ask_again);

async fn whoever_is_locked_out_may_ask_again(app: &TestApp) {
    lock_out(app, "begin", |rival| {
        rival.begin("UPDATE actions SET lock_no = lock_no");
        rival.run(
            "INSERT INTO slots SELECT principal_id, 'e:new ' || substr(key, 7), fingerprint, NULL, 0, 0
             FROM slots WHERE key LIKE 'e:old %' ON CONFLICT DO NOTHING",
        );
    })
    .await;
    if app.database.backend == Backend::Postgres {
        lock_out(app, "middle", |rival| rival.begin("UPDATE orders SET version = version")).await;
        app.rival().block_commits();
        lock_out(app, "commit", |rival| rival.begin("UPDATE turnstile SET one = one")).await;
    }
}

/// Ten requests and ten approvals, and a click, that `lock` keeps out, and once more without it. A round is five seconds of waiting, so
/// each call that is kept out counts as one.
async fn lock_out(app: &TestApp, place: &str, lock: impl Fn(&mut Rival)) {
    let person = app.person(Role::Approver).await;
    let (windows, processes) = (person.windows(CALLERS / 2), app.agent.processes(CALLERS / 2));
    let session = app.session(person).await;
    let books = app.books();
    let name = format!("locked out at {place}, {CALLERS} calls a round");
    repeat(&name, app.database.backend, ROUNDS / CALLERS, async |round| {
        let order = app.order(&format!("#{place}{round}"), 50_000).await.name;
        let mut seen = Vec::new();
        for number in 0..windows.len() {
            let arguments = with_key(refund(&order, 100 + number), format!("old {order}.{number}"));
            let action = app.ask("request_refund", arguments).await;
            seen.push(person.action_alone(&action).await);
        }
        let arguments =
            |number: usize| with_key(refund(&order, 100 + number), format!("new {order}.{number}"));
        let call = |number: usize| processes[number].calling("request_refund", &arguments(number));
        let before = app.rival().everything();

        let mut rival = app.rival();
        lock(&mut rival);
        let click = session.approving(&seen[0]);
        let calls = race((0..processes.len()).map(call));
        let approvals = race(windows.iter().zip(&seen).map(|(window, seen)| window.approving(seen)));
        let (answers, replies, page) = tokio::join!(calls, approvals, click);
        rival.run("ROLLBACK");

        for answer in answers {
            assert_eq!(answer.code(), "unavailable");
            may_be_sent_again(&answer.body["error"]);
        }
        for reply in replies {
            assert_eq!((reply.status.as_u16(), reply.code()), (503, "unavailable"));
            may_be_sent_again(&reply.body);
        }
        assert_eq!(page.status, 503);
        keeps_quiet(&page.html);
        assert_eq!(app.rival().everything(), before);

        for (number, window) in windows.iter().enumerate() {
            assert_eq!(window.approve_as_seen(&seen[number]).await.ok()["status"], "executed");
            assert_eq!(call(number).await.ok()["disposition"], "new");
        }
        books.balance();
    })
    .await;
}

#[track_caller]
fn may_be_sent_again(error: &Value) {
    assert!(error["retry_after_seconds"].as_u64().is_some_and(|seconds| seconds > 0), "{error}");
    keeps_quiet(&error.to_string());
}

#[track_caller]
fn keeps_quiet(text: &str) {
    let text = text.to_lowercase();
    for word in ["locked", "lock timeout", "busy", "statement", "sql"] {
        assert!(!text.contains(word), "{text}");
    }
}
