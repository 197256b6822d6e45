//! Two processes on one SQLite file: a busy one leaves the other its share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::support::run::run;
use crate::support::settings::figure;
use crate::support::shop::{refund, with_key};
use crate::support::site::Site;
use crate::support::{Agent, Backend};

const BUSY: usize = 16;
const CALLS: usize = 40;

#[test]
fn a_busy_process_leaves_another_its_share() {
    run(Backend::Sqlite, async |backend: &Backend| {
        let mut site = Site::new(*backend, 1).await;
        let (done, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let busy = site.agent().processes(BUSY).into_iter().enumerate().map(|(caller, agent)| {
            let (done, is_over) = (Arc::clone(&done), Arc::clone(&is_over));
            tokio::spawn(async move {
                for call in 0.. {
                    if is_over.load(Ordering::SeqCst) {
                        return;
                    }
                    ask(&agent, &format!("{caller}.{call}"), 1 + call * BUSY + caller).await;
                    done.fetch_add(1, Ordering::SeqCst);
                }
            })
        });
        let busy: Vec<_> = busy.collect();
        let other = site.another();
        let agent = site.agent().at(&other.url);
        ask(&agent, "first", 999_999).await;

        let before = done.load(Ordering::SeqCst);
        for call in 0..CALLS {
            ask(&agent, &format!("alone.{call}"), 1_000_000 + call).await;
        }
        let each = (done.load(Ordering::SeqCst) - before) / BUSY;
        is_over.store(true, Ordering::SeqCst);
        for caller in busy {
            caller.await.unwrap();
        }
        figure(&format!(
            "two processes on one file: one caller here made {CALLS} calls, each of {BUSY} there made {each}"
        ));
        assert!(each < 2 * CALLS, "each caller of the busy process made {each} calls meanwhile");
        site.books.balance();
        other.stop("TERM");
        site.stop("TERM");
    });
}

async fn ask(agent: &Agent, key: &str, cents: usize) {
    let answer = agent.call("request_refund", with_key(refund("#0", cents), key)).await.ok();
    assert_eq!(answer["disposition"], "new");
}
