//! `/actions/{id}`: one action, and its decision.

pub mod decide;
pub mod detail;
mod story;

use actix_web::web::{Path, Query};

use super::{
    queue::{Choice, Desk},
    refused::Refused,
    site::Site,
};
use crate::auth::Visitor;

/// The action's page.
pub async fn page(
    site: Site,
    visitor: Visitor,
    id: Path<String>,
    choice: Query<Choice>,
) -> Result<Desk, Refused> {
    Ok(Desk::at(&site, &visitor, &choice, &id).await?)
}
