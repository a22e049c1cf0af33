//! Resolves record fields at top level that have a column's name: both must say the same, which is written once.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use files::output::{FileSpec, WriteError};
use model::{DocId, Error, JsonMembers, JsonObject, json_string};
use std::borrow::Cow;
use std::sync::Arc;

/// Names that no field at top level may have.
pub(super) struct TakenNames {
    names: Vec<String>,
    /// The names in quotes, as an object spells them.
    quoted: Vec<String>,
    /// The column of the fields.
    spread: usize,
    /// The columns to ask for instead.
    instead: String,
}

impl TakenNames {
    /// The names of the other columns; nothing where no fields stand at top level.
    pub fn of(spec: &FileSpec, instead: String) -> Option<Self> {
        let spread = spec.spread?;
        let fields = spec.schema.fields().iter().enumerate();
        let others = fields.filter(|(at, _)| *at != spread);
        let names: Vec<String> = others.map(|(_, field)| field.name().clone()).collect();
        let quoted = names.iter().map(|name| format!("\"{name}\"")).collect();
        Some(Self { names, quoted, spread, instead })
    }

    /// The rows without the fields that say what their column says; refuses the first document with a field that has
    /// such a name and another value.
    pub fn resolved(&self, rows: RecordBatch, documents: &[DocId]) -> Result<RecordBatch, Error> {
        let Some(objects) = rows.columns().get(self.spread).and_then(|c| c.as_string_view_opt())
        else {
            return Ok(rows);
        };
        let mut repeats = false;
        let mut kept: Vec<Option<Cow<'_, str>>> = Vec::with_capacity(rows.num_rows());
        for (row, (object, document)) in objects.iter().zip(documents).enumerate() {
            let Some(object) = object else {
                kept.push(None);
                continue;
            };
            let is_said = |name: &str, value: &str| {
                text_at(&rows, name, row).is_some_and(|text| json_string(&text) == value)
            };
            let without = self.without_repeats(object, is_said).map_err(|name| {
                Error::bad_input(format!(
                    "document {document} has a field `{name}`, which conflicts with the column `{name}`: write its fields as one column with `columns=` {}",
                    self.instead
                ))
            })?;
            repeats |= matches!(without, Cow::Owned(_));
            kept.push(Some(without));
        }
        if !repeats {
            return Ok(rows);
        }
        let mut columns = rows.columns().to_vec();
        let objects: ArrayRef = Arc::new(StringViewArray::from_iter(kept));
        columns.splice(self.spread..=self.spread, [objects]);
        RecordBatch::try_new(rows.schema(), columns)
            .map_err(|error| WriteError::Bug(error.to_string()).into())
    }

    /// An object without the members of which `is_said` knows that a column has the same.
    ///
    /// # Errors
    /// The first name at top level that is taken for something else.
    fn without_repeats<'o>(
        &self,
        object: &'o str,
        is_said: impl Fn(&str, &str) -> bool,
    ) -> Result<Cow<'o, str>, String> {
        // Most objects do not contain such a name, which is found without parsing them.
        if !object.contains('\\') && !self.quoted.iter().any(|name| object.contains(name)) {
            return Ok(Cow::Borrowed(object));
        }
        let Ok(JsonMembers(members)) = serde_json::from_str(object) else {
            return Ok(Cow::Borrowed(object));
        };
        let is_taken = |name: &str| self.names.iter().any(|taken| taken == name);
        if !members.iter().any(|(name, _)| is_taken(name)) {
            return Ok(Cow::Borrowed(object));
        }
        let mut kept = JsonObject::default();
        for (name, value) in members {
            if !is_taken(&name) {
                kept.push_raw(&json_string(&name), value.get());
            } else if !is_said(&name, value.get()) {
                return Err(name.into_owned());
            }
        }
        Ok(Cow::Owned(kept.finish()))
    }
}

/// The value of a column of texts.
fn text_at(rows: &RecordBatch, name: &str, row: usize) -> Option<String> {
    let column = rows.column_by_name(name).filter(|column| column.is_valid(row))?;
    let texts = cast(&column.slice(row, 1), &DataType::LargeUtf8).ok();
    let is_text = match column.data_type() {
        DataType::Dictionary(_, values) => values.is_string(),
        kind => kind.is_string(),
    };
    texts.filter(|_| is_text).map(|texts| texts.as_string::<i64>().value(0).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_at_top_level_collide() {
        let names = ["key", "text"].map(str::to_owned).to_vec();
        let quoted = names.iter().map(|name| format!("\"{name}\"")).collect();
        let taken = TakenNames { names, quoted, spread: 0, instead: String::new() };
        let is_said = |name: &str, value: &str| name == "key" && value == "\"k\"";
        for (object, kept) in [
            ("{}", Ok("{}")),
            ("{\"a\":\"key\"}", Ok("{\"a\":\"key\"}")),
            ("{\"a\":{\"text\":1}}", Ok("{\"a\":{\"text\":1}}")),
            ("{\"a\":1,\"text\":{}}", Err("text")),
            ("{\"k\\u0065y\":1}", Err("key")),
            ("{\"a\":1,\"key\":\"k\",\"b\":2}", Ok("{\"a\":1,\"b\":2}")),
        ] {
            let of = taken.without_repeats(object, is_said);
            assert_eq!(of.as_deref().map_err(String::as_str), kept, "{object}");
        }
    }
}
