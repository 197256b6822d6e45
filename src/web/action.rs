//! `/actions/{id}`: one action, and its decision.

pub mod decide;
pub mod detail;
mod form;
pub mod other;
mod outcome;
mod story;

use actix_web::web::Path;

use super::{asked::Asked, choice::Choice, queue::Desk, refused::Refused, site::Site};
use crate::auth::Visitor;

/// The action's page.
pub async fn page(
    site: Site,
    visitor: Visitor,
    id: Path<String>,
    Asked(choice): Asked<Choice>,
) -> Result<Desk, Refused> {
    let desk = Desk::at(&site, &visitor, &choice, &id).await;
    desk.map_err(|error| Refused::from(error).in_list(&format!("/actions/{id}")))
}
