//! The server is killed at each point of each call, and started again.

use super::calls::{Call, Ready, Scene};
use crate::support::races::repeat;
use crate::support::rival::Rival;
use crate::support::site::Site;
use crate::support::{Backend, backends};

backends!(killed_at_each_point_of_each_call);

const ROUNDS: usize = 10;

async fn killed_at_each_point_of_each_call(backend: &Backend) {
    let cases: Vec<_> = Call::ALL
        .into_iter()
        .flat_map(|call| call.points().iter().map(move |point| (call, *point)))
        .collect();
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
            let stands = point == "committed";
            let after = Rival::on(&site.database).everything();
            assert_eq!(after != before, stands, "{call:?} {point}");
            site.books.balance();
            ready.send_again(&scene(&site), stands).await;
            site.books.balance();
        }
    })
    .await;
}

fn scene(site: &Site) -> Scene<'_> {
    Scene {
        agent: site.agent(),
        person: site.person(),
        database: &site.database,
    }
}
