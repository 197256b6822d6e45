//! JSON Schemas of arguments and answers: made from Rust types, kept free of what some MCP clients choke on, and used
//! for validation as published.

use std::sync::OnceLock;

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

use crate::error::Denial;

/// A JSON object, in the order its members were written.
pub type JsonObject = serde_json::Map<String, Value>;

/// The schema of a tool's arguments.
pub struct Shape {
    schema: JsonObject,
    /// Made for the first call: a tool may never see one.
    validator: OnceLock<Validator>,
}

impl Shape {
    /// The shape of `T`, closed: unknown members are refused.
    pub fn of<T: JsonSchema>() -> Self {
        Self::new(object_schema::<T>())
    }

    /// A shape from its schema.
    pub fn new(mut schema: JsonObject) -> Self {
        schema.insert("additionalProperties".to_owned(), json!(false));
        Self {
            schema,
            validator: OnceLock::new(),
        }
    }

    /// # Panics
    /// When the schema is none; schemas are made by this crate.
    fn validator(&self) -> &Validator {
        let made = || jsonschema::validator_for(&Value::Object(self.schema.clone()));
        self.validator.get_or_init(|| made().expect("a valid JSON Schema"))
    }

    /// This shape with more properties, the named of which are required.
    #[must_use]
    pub fn with(&self, properties: JsonObject, required: &[&str]) -> Self {
        let mut schema = self.schema.clone();
        if let Some(own) = schema.entry("properties").or_insert_with(|| json!({})).as_object_mut() {
            own.extend(properties);
        }
        if let Some(own) = schema.entry("required").or_insert_with(|| json!([])).as_array_mut() {
            own.extend(required.iter().map(|&name| json!(name)));
        }
        Self::new(schema)
    }

    /// The schema as published.
    pub fn schema(&self) -> &JsonObject {
        &self.schema
    }

    /// Checks arguments, and names the first field at fault.
    pub fn check(&self, arguments: &JsonObject) -> Result<(), Denial> {
        if let Some(field) = arguments.iter().find_map(|(name, value)| has_nul(value).then_some(name)) {
            return Err(Denial::invalid(field, format!("{field} contains a NUL character; leave it out.")));
        }
        match self.validator().validate(&Value::Object(arguments.clone())) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.denial(&error)),
        }
    }

    fn denial(&self, error: &ValidationError<'_>) -> Denial {
        let at = error.instance_path().to_string();
        let field = at.split('/').nth(1).unwrap_or_default().to_owned();
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                Denial::invalid(name, format!("{name} is missing."))
            }
            ValidationErrorKind::AdditionalProperties { .. } => {
                let known = self.schema.get("properties").and_then(Value::as_object);
                let known = known
                    .map(|known| known.keys().cloned().collect::<Vec<_>>().join(", "))
                    .unwrap_or_default();
                Denial::invalid(
                    "",
                    format!("There is an argument this tool does not know. It takes: {known}."),
                )
            }
            kind => {
                let (wanted, inside) = (wanted(kind), at.matches('/').count() > 1);
                let place = if inside { format!("a part of {field}") } else { field.clone() };
                Denial::invalid(&field, format!("{place} {wanted}."))
            }
        }
    }
}

/// The rest of a sentence that begins with the field's name. Never repeats the value, which may be anything.
fn wanted(kind: &ValidationErrorKind) -> String {
    match kind {
        ValidationErrorKind::Type { kind } => match kind {
            jsonschema::error::TypeKind::Single(one) => format!("must be of type {one}"),
            jsonschema::error::TypeKind::Multiple(_) => "has the wrong type".to_owned(),
        },
        ValidationErrorKind::Minimum { limit } => format!("must be {limit} or more"),
        ValidationErrorKind::Maximum { limit } => format!("must be {limit} or less"),
        ValidationErrorKind::MinLength { limit: 1 } => "must not be empty".to_owned(),
        ValidationErrorKind::MinLength { limit } => format!("must have at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("must have at most {limit} characters"),
        ValidationErrorKind::Enum { options } => format!("must be one of {}", listed(options)),
        ValidationErrorKind::Pattern { .. } => "is not in the form the schema asks for".to_owned(),
        _ => "is not what the schema asks for".to_owned(),
    }
}

/// Words as one writes them in a sentence.
fn listed(options: &Value) -> String {
    let word = |option: &Value| option.as_str().map_or_else(|| option.to_string(), ToOwned::to_owned);
    options.as_array().into_iter().flatten().map(word).collect::<Vec<_>>().join(", ")
}

/// Postgres can't hold U+0000 in text, and nothing needs it.
fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => members.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}

/// The schema of `T`: everything inline, no `null`s for optional members, no formats that only Rust knows.
pub fn object_schema<T: JsonSchema>() -> JsonObject {
    let generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    plain(&mut schema);
    match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}

fn plain(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    for noise in ["$schema", "title"] {
        if object.get(noise).is_some_and(Value::is_string) {
            object.remove(noise);
        }
    }
    // What a map's schema says of its members; it says nothing, and some clients choke on a boolean as a schema.
    if object.get("additionalProperties") == Some(&Value::Bool(true)) {
        object.remove("additionalProperties");
    }
    let rust_only = |format: &Value| {
        format.as_str().is_some_and(|text| text.starts_with("int") || text.starts_with("uint"))
    };
    if object.get("format").is_some_and(rust_only) {
        object.remove("format");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(options)) = object.get_mut("enum") {
        options.retain(|option| !option.is_null());
    }
    if let Some(Value::Array(mut options)) = object.remove("anyOf") {
        options.retain(|option| option.get("type").is_none_or(|one| one != "null"));
        match options.as_mut_slice() {
            [Value::Object(only)] => object.append(only),
            _ => {
                object.insert("anyOf".to_owned(), Value::Array(options));
            }
        }
    }
    for (name, member) in object.iter_mut() {
        match (name.as_str(), member) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(plain),
            (_, member) => plain(member),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
        Green,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Sample {
        #[expect(dead_code, reason = "only its schema is used")]
        colour: Option<Colour>,
    }

    #[test]
    fn a_choice_is_told_in_words() {
        let blue = json!({ "colour": "blue" });
        let denial = Shape::of::<Sample>().check(blue.as_object().expect("an object")).unwrap_err();
        assert_eq!(denial.message, "colour must be one of red, green.");
    }
}
