//! Random histories: whatever agents ask and people decide, in whichever order and however much of it at once, the books
//! balance, and what somebody was told stays so.

mod world;

use crate::support::races::repeat;
use crate::support::random::{Random, seed};
use crate::support::run::Fixture;
use crate::support::settings::figure;
use crate::support::{Backend, TestApp, backends};
use world::World;

const HISTORIES: usize = 1_000;
const STEPS: u64 = 18;
/// A shop with more in it makes looking through all of it slow.
const HISTORIES_PER_SHOP: usize = 50;

backends!(random_histories);

async fn random_histories(backend: &Backend) {
    let first = seed();
    let mut world = World::new(TestApp::set_up(*backend).await).await;
    let mut tally = world::Tally::default();
    repeat("random histories", *backend, HISTORIES, async |number| {
        if number > 0 && number % HISTORIES_PER_SHOP == 0 {
            let next = World::new(TestApp::set_up(*backend).await).await;
            std::mem::replace(&mut world, next).close().await;
        }
        let seed = first + number as u64;
        println!("COUNTERSIGN_TEST_SEED={seed}");
        let mut random = Random::from_seed(seed);
        world.begin(number, &mut random).await;
        for _ in 0..STEPS {
            world.step(&mut random).await;
        }
        world.end(&mut tally).await;
    })
    .await;
    world.close().await;
    figure(&format!("random histories, {backend}: from seed {first}, which came to {tally}"));
}
