//! `kill -9` at a moment of the test's choosing.

use super::KILLS;
use crate::support::Backend;
use crate::support::backends;
use crate::support::races::repeat;
use crate::support::rival::Rival;
use crate::support::run::run;
use crate::support::shop::{refund, with_key};
use crate::support::site::Site;

backends!(killed_before_its_commit);

/// On SQLite the transaction waits to begin, on Postgres it is half done.
async fn killed_before_its_commit(backend: &Backend) {
    kill_behind(*backend, "kill -9 before a commit", "UPDATE orders SET version = version", "new").await;
}

#[test]
fn killed_while_it_commits() {
    run(Backend::Postgres, async |backend: &Backend| {
        kill_behind(*backend, "kill -9 during a commit", "UPDATE turnstile SET one = one", "joined").await;
    });
}

/// Kills the program while a request waits for what `lock` holds, lets go, and repeats the request.
async fn kill_behind(backend: Backend, name: &str, lock: &str, expected: &str) {
    let mut site = Site::new(backend, KILLS).await;
    if backend == Backend::Postgres {
        Rival::on(&site.database).block_commits();
    }
    repeat(name, backend, KILLS, async |number| {
        let arguments = with_key(refund(&format!("#{number}"), 100), format!("{number}"));
        let mut rival = Rival::on(&site.database);
        rival.begin(lock);
        let (agent, call) = (site.callers().agents.remove(0), arguments.clone());
        let call = tokio::spawn(async move { agent.try_call("request_refund", call).await });
        site.until_blocked().await;
        site.stop("KILL");
        assert!(call.await.unwrap().is_err());
        rival.run("COMMIT");
        rival.until_alone();

        site.start().await;
        site.books.balance();
        let answer = site.callers().agents[0].call("request_refund", arguments).await.ok();
        assert_eq!((&answer["disposition"], &answer["attempt"]), (&expected.into(), &1.into()));
        site.books.balance();
    })
    .await;
}
