//! `seed`: the demo shop.

use clap::Args;

use super::{open, out::say};
use crate::{
    config::Config,
    error::Result,
    shop::import::{Seeded, seed},
};

/// Load the demo shop into an empty one; a shop with something in it stays as it is
#[derive(Args)]
pub struct Seed {
    #[command(flatten)]
    config: Config,
}

impl Seed {
    pub(super) async fn run(self) -> Result<()> {
        let told = match seed(&open(self.config).await?.db).await? {
            Seeded::Loaded { products, orders } => format!("Loaded {products} products and {orders} orders."),
            Seeded::NotEmpty => "The shop has something in it already. Nothing was changed.".to_owned(),
        };
        say!("{told}");
        Ok(())
    }
}
