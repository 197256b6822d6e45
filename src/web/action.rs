//! `/actions/{id}`: one action, and its decision.

pub mod decide;
pub mod detail;
mod form;
pub mod other;
mod outcome;
mod story;

use actix_web::web::Path;

use super::{
    asked::Asked,
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
    Asked(choice): Asked<Choice>,
) -> Result<Desk, Refused> {
    choice
        .known(&site)
        .map_err(|denial| Refused::from(denial).in_list(&format!("/actions/{id}")))?;
    Ok(Desk::at(&site, &visitor, &choice, &id).await?)
}
