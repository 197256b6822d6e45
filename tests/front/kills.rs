//! Stops and kills of the real program under load. Whoever was answered keeps what they were told, nothing is half done, and
//! whoever was not answered finds out by asking again.

mod disk;
mod forced;
mod known;
mod load;

use std::time::Duration;

use crate::support::races::repeat;
use crate::support::random::{Random, seed};
use crate::support::settings::figure;
use crate::support::site::Site;
use crate::support::{Backend, backends};
use known::Tally;

const KILLS: usize = 200;

backends!(killed_at_any_moment, stopped_at_any_moment);

async fn killed_at_any_moment(backend: &Backend) {
    let (first, mut site) = (seed(), Site::new(*backend, KILLS).await);
    let (mut random, mut tally) = (Random::from_seed(first), Tally::default());
    repeat("kill -9 under load", *backend, KILLS, async |number| {
        let load = site.callers().load(number);
        tokio::time::sleep(Duration::from_micros(random.below(400_000))).await;
        site.stop("KILL");
        let known = load.end().await;

        site.start().await;
        site.books.balance();
        let stored = known.still_holds(&site.database, &mut tally);
        site.callers().ask_again(&known, &stored).await;
        site.books.balance();
    })
    .await;
    let ready = site.recoveries();
    figure(&format!(
        "kill -9 under load, {backend}: from seed {first}; {tally}; ready again after {ready}"
    ));
}

async fn stopped_at_any_moment(backend: &Backend) {
    let (first, mut site) = (seed(), Site::new(*backend, KILLS).await);
    let (mut random, mut tally, mut longest) = (Random::from_seed(first), Tally::default(), Duration::ZERO);
    repeat("SIGTERM under load", *backend, KILLS, async |number| {
        let load = site.callers().load(number);
        tokio::time::sleep(Duration::from_micros(random.below(200_000))).await;
        let (code, took) = site.stop("TERM");
        assert_eq!(code, Some(0));
        assert!(took < Duration::from_secs(10), "it took {took:?} to stop");
        longest = longest.max(took);

        let known = load.end().await;
        site.books.balance();
        known.still_holds(&site.database, &mut tally);
        assert_eq!(tally.stood(), 0, "a call was let in and not answered");
        site.start().await;
    })
    .await;
    figure(&format!(
        "SIGTERM under load, {backend}: from seed {first}; {tally}; stopped after {longest:.0?} at most"
    ));
}
