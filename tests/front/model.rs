//! A small state machine beside the real thing: random histories of requests, repetitions, decisions and time that goes by,
//! in two processes of which one is killed now and then. Each answer is the one the machine gives, and so is what is stored.

mod call;
mod machine;
mod place;
mod walk;

use crate::support::Backend;
use crate::support::backends;
use crate::support::races::repeat;
use crate::support::random::{Random, seed};
use crate::support::settings::figure;
use place::Place;
use walk::{Tally, Walk};

const HISTORIES: usize = 2_000;
const STEPS: usize = 12;
/// A shop with more in it makes looking through all of it slow.
const HISTORIES_PER_SHOP: usize = 100;

backends!(histories_as_the_table_says);

async fn histories_as_the_table_says(backend: &Backend) {
    let (first, mut tally) = (seed(), Tally::default());
    let mut place = Place::open(*backend).await;
    repeat("histories beside the model", *backend, HISTORIES, async |number| {
        if number > 0 && number % HISTORIES_PER_SHOP == 0 {
            std::mem::replace(&mut place, Place::open(*backend).await).close().await;
        }
        let seed = first + number as u64;
        println!("COUNTERSIGN_TEST_SEED={seed}");
        let mut walk = Walk::begin(&mut place, number, Random::from_seed(seed)).await;
        for _ in 0..STEPS {
            walk.step(&mut tally).await;
        }
        walk.end().await;
    })
    .await;
    place.close().await;
    figure(&format!("histories beside the model, {backend}: from seed {first}: {tally}"));
}
