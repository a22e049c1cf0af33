//! Fields of records that stand at top level: none may have the name of a column beside them.

use super::error::ExportError;
use crate::model::{DocId, JsonName};
use crate::output::FileSpec;
use arrow::array::{AsArray, RecordBatch};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// Names that no field at top level may have.
pub(super) struct TakenNames {
    names: Vec<String>,
    /// The same in quotes, as an object spells them.
    quoted: Vec<String>,
    /// The column of the fields.
    spread: usize,
    /// The columns to ask for instead.
    instead: String,
}

impl TakenNames {
    /// Those of the other columns; nothing where no fields stand at top level.
    pub fn of(spec: &FileSpec, instead: String) -> Option<Self> {
        let spread = spec.spread?;
        let fields = spec.schema.fields().iter().enumerate();
        let others = fields.filter(|(at, _)| *at != spread);
        let names: Vec<String> = others.map(|(_, field)| field.name().clone()).collect();
        let quoted = names.iter().map(|name| format!("\"{name}\"")).collect();
        Some(Self { names, quoted, spread, instead })
    }

    /// Refuses the first document of `rows` with such a field.
    pub fn check(&self, rows: &RecordBatch, documents: &[DocId]) -> Result<(), ExportError> {
        let objects =
            rows.columns().get(self.spread).and_then(|column| column.as_string_view_opt());
        for (object, document) in objects.into_iter().flatten().zip(documents) {
            if let Some(name) = self.found_in(object.unwrap_or_default()) {
                let instead = self.instead.clone();
                return Err(ExportError::Collision { document: document.0, name, instead });
            }
        }
        Ok(())
    }

    /// The first of them that an object has at top level.
    fn found_in(&self, object: &str) -> Option<String> {
        // Most objects do not contain such a name, which is found without parsing them.
        if !object.contains('\\') && !self.quoted.iter().any(|name| object.contains(name)) {
            return None;
        }
        let found =
            serde_json::Deserializer::from_str(object).deserialize_map(NameSearch(&self.names));
        found.ok().flatten()
    }
}

/// Looks for one of some names.
struct NameSearch<'a>(&'a [String]);

impl<'l> Visitor<'l> for NameSearch<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'l>>(self, mut map: A) -> Result<Option<String>, A::Error> {
        let mut found = None;
        while let Some((JsonName(name), IgnoredAny)) = map.next_entry()? {
            if found.is_none() && self.0.iter().any(|taken| *taken == name) {
                found = Some(name.into_owned());
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_at_top_level_collide() {
        let names = ["key", "text"].map(str::to_owned).to_vec();
        let quoted = names.iter().map(|name| format!("\"{name}\"")).collect();
        let taken = TakenNames { names, quoted, spread: 0, instead: String::new() };
        for (object, found) in [
            ("{}", None),
            ("{\"a\":\"key\"}", None),
            ("{\"a\":{\"text\":1}}", None),
            ("{\"a\":1,\"text\":{}}", Some("text")),
            ("{\"k\\u0065y\":1}", Some("key")),
        ] {
            assert_eq!(taken.found_in(object).as_deref(), found, "{object}");
        }
    }
}
