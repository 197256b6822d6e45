//! The names that a field may hold, as the document describes them.

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ObjectBuilder, RefOr,
        schema::{Schema, Type},
    },
};

use crate::{audit::Category, error::Code, store::actions::Status};

/// Stands for every [`Code`] in the document.
pub struct CodeName;

/// Stands for every [`Status`] in the document.
pub struct StatusName;

/// Stands for every group of events in the document.
pub struct CategoryName;

impl PartialSchema for CodeName {
    fn schema() -> RefOr<Schema> {
        one_of(Code::ALL.into_iter().map(Code::as_str))
    }
}

impl ToSchema for CodeName {}

impl PartialSchema for StatusName {
    fn schema() -> RefOr<Schema> {
        one_of(Status::ALL.iter().map(|status| status.as_str()))
    }
}

impl ToSchema for StatusName {}

impl PartialSchema for CategoryName {
    fn schema() -> RefOr<Schema> {
        one_of(Category::ALL.iter().map(|category| category.as_str()))
    }
}

impl ToSchema for CategoryName {}

fn one_of(names: impl Iterator<Item = &'static str>) -> RefOr<Schema> {
    let names = names.map(serde_json::Value::from).collect::<Vec<_>>();
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).into()
}
