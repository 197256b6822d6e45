//! The server is killed at each point of each call. It is started again, or there is another one all the while.

use std::time::Duration;

use super::calls::{Call, Ready, Scene};
use crate::support::races::repeat;
use crate::support::rival::Rival;
use crate::support::site::Site;
use crate::support::{Backend, backends};

backends!(killed_at_each_point_of_each_call, killed_beside_another_process);

const ROUNDS: usize = 10;
/// Beside another process.
const KILLS: usize = 200;

/// Each point of each call.
fn cases() -> Vec<(Call, &'static str)> {
    let points = |call: Call| call.points().iter().map(move |point| (call, *point));
    Call::ALL.into_iter().flat_map(points).collect()
}

async fn killed_at_each_point_of_each_call(backend: &Backend) {
    let cases = cases();
    let mut site = Site::new(*backend, ROUNDS * cases.len()).await;
    let name = format!("kill -9 at {} points", cases.len());
    repeat(&name, *backend, ROUNDS, async |round| {
        for (number, (call, point)) in cases.iter().copied().enumerate() {
            let order = format!("#{}", round * cases.len() + number);
            let ready = Ready::new(&scene(&site), call, &order).await;
            let before = Rival::on(&site.database).everything();

            site.failpoints.arm(point);
            let sent = tokio::spawn(ready.send(&scene(&site)));
            site.failpoints.until_reached(point).await;
            site.stop("KILL");
            site.failpoints.release(point);
            assert!(sent.await.unwrap().is_none(), "{call:?} {point}");
            Rival::on(&site.database).until_alone();

            site.start().await;
            let stands = stands(point);
            let after = Rival::on(&site.database).everything();
            assert_eq!(after != before, stands, "{call:?} {point}");
            site.books.balance();
            ready.send_again(&scene(&site), stands).await;
            site.books.balance();
        }
    })
    .await;
}

/// Whoever waits in vain asks the other one, after the kill or just before it.
async fn killed_beside_another_process(backend: &Backend) {
    let mut cases = cases();
    // The last points first: a short run does not come to all of them.
    cases.sort_by_key(|(call, point)| call.points().iter().rev().position(|each| each == point));
    let site = Site::new(*backend, KILLS).await;
    repeat("kill -9 beside another process", *backend, KILLS, async |number| {
        let (call, point) = cases[number % cases.len()];
        let ready = Ready::new(&scene(&site), call, &format!("#{number}")).await;
        let killed = site.another();
        let there = Scene {
            agent: site.agent().at(&killed.url),
            person: site.person().at(&killed.url),
            database: &site.database,
        };

        site.failpoints.arm(point);
        let sent = tokio::spawn(ready.send(&there));
        site.failpoints.until_reached(point).await;
        let delay = if number % 2 == 0 { Duration::ZERO } else { Duration::from_millis(20) };
        let kill = async {
            tokio::time::sleep(delay).await;
            killed.stop("KILL");
            site.failpoints.release(point);
        };
        tokio::join!(kill, async { ready.send_again(&scene(&site), stands(point)).await });
        assert!(sent.await.unwrap().is_none(), "{call:?} {point}");
        site.books.balance();
    })
    .await;
}

/// Whether a call that was stopped there was committed.
fn stands(point: &str) -> bool {
    point == "committed"
}

fn scene(site: &Site) -> Scene<'_> {
    Scene {
        agent: site.agent(),
        person: site.person(),
        database: &site.database,
    }
}
