//! Builds the columns of tables over CSV and JSON files, value by value.

use super::kinds::{CellKind, CellValue, double, elements, members};
use arrow::array::{
    ArrayBuilder, ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, ListArray,
    StringViewBuilder, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use model::canonical;
use serde::de::{DeserializeSeed, Deserializer, Visitor};
use std::fmt;
use std::sync::Arc;

/// Characters of a value that an error shows.
const SHOWN: usize = 60;

/// The column of one kind of value, as far as it is built.
pub(super) struct ColumnBuilder {
    kind: CellKind,
    rows: ColumnRows,
}

enum ColumnRows {
    Texts(StringViewBuilder),
    Truths(BooleanBuilder),
    Whole(Int64Builder),
    Doubles(Float64Builder),
    /// The elements of all lists; for each list its length, and whether it is not null.
    Lists(Box<ColumnBuilder>, Vec<usize>, Vec<bool>),
    /// The columns of members; for each object, whether it is not null.
    Objects(Vec<(String, ColumnBuilder)>, Vec<bool>),
}

impl ColumnBuilder {
    pub(super) fn new(kind: &CellKind) -> Self {
        let rows = match kind {
            CellKind::Null | CellKind::Text => ColumnRows::Texts(StringViewBuilder::new()),
            CellKind::Bool => ColumnRows::Truths(BooleanBuilder::new()),
            CellKind::Int | CellKind::Long => ColumnRows::Whole(Int64Builder::new()),
            CellKind::Float => ColumnRows::Doubles(Float64Builder::new()),
            CellKind::List(of) => {
                ColumnRows::Lists(Box::new(Self::new(of)), Vec::new(), Vec::new())
            }
            CellKind::Object(of) => {
                let of = of.iter().map(|(name, kind)| (name.clone(), Self::new(kind)));
                ColumnRows::Objects(of.collect(), Vec::new())
            }
        };
        Self { kind: kind.clone(), rows }
    }

    pub(super) fn len(&self) -> usize {
        match &self.rows {
            ColumnRows::Texts(texts) => texts.len(),
            ColumnRows::Truths(truths) => truths.len(),
            ColumnRows::Whole(numbers) => numbers.len(),
            ColumnRows::Doubles(numbers) => numbers.len(),
            ColumnRows::Lists(_, _, are_there) | ColumnRows::Objects(_, are_there) => {
                are_there.len()
            }
        }
    }

    /// Adds a null.
    pub(super) fn push_null(&mut self) -> Result<(), String> {
        self.push(&CellValue::Json("null".into()))
    }

    /// Adds a value; the error says what was found and what was expected.
    pub(super) fn push(&mut self, value: &CellValue<'_>) -> Result<(), String> {
        if let ColumnRows::Texts(texts) = &mut self.rows {
            return push_text(texts, value).map_err(|error| error.to_string());
        }
        let json = match value {
            CellValue::Json(json) => Some(json.as_ref()).filter(|json| *json != "null"),
            CellValue::Number(spelled) => Some(*spelled),
            CellValue::Text(text) => return Err(misfit(&format!("\"{text}\""), &self.kind)),
        };
        let is_taken = match &mut self.rows {
            ColumnRows::Texts(_) => true,
            ColumnRows::Truths(truths) => {
                let truth = json.and_then(|json| json.parse().ok());
                truths.append_option(truth);
                truth.is_some()
            }
            ColumnRows::Whole(numbers) => {
                let number = json.and_then(|json| json.parse().ok());
                numbers.append_option(number);
                number.is_some()
            }
            ColumnRows::Doubles(numbers) => {
                let number = json.and_then(double);
                numbers.append_option(number);
                number.is_some()
            }
            ColumnRows::Lists(of, lengths, are_there) => {
                let list = json.filter(|json| json.starts_with('['));
                let found = list.map(elements).unwrap_or_default();
                found.iter().try_for_each(|json| of.push(&CellValue::Json((*json).into())))?;
                lengths.push(found.len());
                are_there.push(list.is_some());
                list.is_some()
            }
            ColumnRows::Objects(of, are_there) => {
                let object = json.filter(|json| json.starts_with('{'));
                push_members(of, object, &self.kind)?;
                are_there.push(object.is_some());
                object.is_some()
            }
        };
        match json.filter(|_| !is_taken) {
            Some(json) => Err(misfit(json, &self.kind)),
            None => Ok(()),
        }
    }

    /// Takes the column out; the next one begins without rows. Fails where there are more values than a column holds.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, String> {
        let nulls = |are_there: &mut Vec<bool>| Some(NullBuffer::from(std::mem::take(are_there)));
        let made: Result<ArrayRef, ArrowError> = match (&mut self.rows, self.kind.data_type()) {
            (ColumnRows::Texts(texts), _) => Ok(Arc::new(texts.finish())),
            (ColumnRows::Truths(truths), _) => Ok(Arc::new(truths.finish())),
            (ColumnRows::Whole(numbers), _) => Ok(Arc::new(numbers.finish())),
            (ColumnRows::Doubles(numbers), _) => Ok(Arc::new(numbers.finish())),
            (ColumnRows::Lists(of, lengths, are_there), DataType::List(field)) => {
                let offsets = OffsetBuffer::from_lengths(std::mem::take(lengths));
                let lists = ListArray::try_new(field, offsets, of.finish()?, nulls(are_there));
                lists.map(|lists| Arc::new(lists) as ArrayRef)
            }
            (ColumnRows::Objects(of, are_there), DataType::Struct(fields)) => {
                let members = of.iter_mut().map(|(_, column)| column.finish());
                let members = members.collect::<Result<_, _>>()?;
                let objects = StructArray::try_new(fields, members, nulls(are_there));
                objects.map(|objects| Arc::new(objects) as ArrayRef)
            }
            (ColumnRows::Lists(..) | ColumnRows::Objects(..), kind) => {
                Err(ArrowError::SchemaError(format!("{kind} has no elements")))
            }
        };
        made.map_err(|error| error.to_string())
    }
}

/// The message about a value of another kind.
fn misfit(found: &str, expected: &CellKind) -> String {
    let shown: String = found.chars().take(SHOWN).collect();
    let more = if shown.len() < found.len() { ".." } else { "" };
    format!("found {shown}{more}, expected {}", expected.words())
}

/// Adds a text value; of another value the JSON that spells it.
fn push_text(texts: &mut StringViewBuilder, value: &CellValue<'_>) -> Result<(), ArrowError> {
    let json = match value {
        CellValue::Text(text) => return texts.try_append_value(text),
        CellValue::Number(spelled) => return texts.try_append_value(spelled),
        CellValue::Json(json) => json.as_ref(),
    };
    match json.as_bytes().first() {
        None | Some(b'n') => texts.append_null(),
        Some(b'"') => {
            let mut text = serde_json::Deserializer::from_str(json);
            match JsonTextSeed(texts).deserialize(&mut text) {
                Ok(appended) => appended?,
                Err(_) => texts.append_null(),
            }
        }
        // In the form in which an ingest stores a number.
        Some(b'-' | b'0'..=b'9') => match canonical(json) {
            Ok(canonical) => texts.try_append_value(canonical.json)?,
            Err(_) => texts.try_append_value(json)?,
        },
        Some(_) => texts.try_append_value(json)?,
    }
    Ok(())
}

/// Decodes a JSON string straight into the column.
struct JsonTextSeed<'b>(&'b mut StringViewBuilder);

impl<'j> DeserializeSeed<'j> for JsonTextSeed<'_> {
    type Value = Result<(), ArrowError>;

    fn deserialize<D: Deserializer<'j>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for JsonTextSeed<'_> {
    type Value = Result<(), ArrowError>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.0.try_append_value(text))
    }
}

/// Adds an object to the columns of its members.
fn push_members(
    columns: &mut [(String, ColumnBuilder)],
    object: Option<&str>,
    kind: &CellKind,
) -> Result<(), String> {
    let mut values: Vec<Option<&str>> = vec![None; columns.len()];
    for (name, json) in object.map(members).unwrap_or_default() {
        let at = columns.iter().position(|(known, _)| *known == name);
        match at.and_then(|at| values.get_mut(at)) {
            Some(value) => *value = Some(json),
            None if json == "null" => {}
            None => return Err(misfit(&format!("member `{name}`, {json}"), kind)),
        }
    }
    columns.iter_mut().zip(values).try_for_each(|((_, column), json)| match json {
        Some(json) => column.push(&CellValue::Json(json.into())),
        None => column.push_null(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::Int64Type;

    /// The column of `rows` and `more`, of the kind that `rows` have.
    fn column(rows: &[&'static str], more: &[&'static str]) -> Result<ArrayRef, (usize, String)> {
        let kinds = rows.iter().map(|json| CellKind::of(&CellValue::Json((*json).into())));
        let mut column = ColumnBuilder::new(&kinds.fold(CellKind::Null, CellKind::with));
        for (row, json) in rows.iter().chain(more).enumerate() {
            column.push(&CellValue::Json((*json).into())).map_err(|words| (row, words))?;
        }
        column.finish().map_err(|words| (rows.len() + more.len(), words))
    }

    #[test]
    fn nested_values_keep_their_nulls_and_a_misfit_tells_its_row() {
        let lists = column(&["[1,null]", "null", "[]", "[2]"], &[]).unwrap();
        let lists = lists.as_list::<i32>();
        assert_eq!((lists.len(), lists.null_count()), (4, 1));
        assert_eq!(lists.value(0).as_primitive::<Int64Type>().null_count(), 1);
        let objects = column(&["{\"a\":{\"b\":\"x\"}}", "{\"c\":[1]}"], &["{}"]).unwrap();
        assert_eq!(objects.as_struct().columns().len(), 2);
        for (rows, later, words) in [
            (&["1"][..], "1.5", "found 1.5, expected a whole number"),
            (&["1.5"], "9007199254740993", "expected a number that a double holds"),
            (&["true"], "\"x\"", "found \"x\", expected true or false"),
            (&["[1]", "[1,2]"], "[3,\"x\"]", "found \"x\", expected a whole number"),
            (&["{\"a\":1}"], "{\"b\":2}", "found member `b`, 2, expected an object with `a`"),
            (&["[1]"], "2", "found 2, expected a list"),
        ] {
            let (row, found) = column(rows, &[later]).unwrap_err();
            assert_eq!(row, rows.len());
            assert!(found.contains(words), "{found}");
        }
    }

    #[test]
    fn texts_are_decoded_and_other_values_spelled() {
        let texts = column(&["\"a\\n\\u00e9\"", "1e2", "true", "null", "\"plain\"", "[ 1 ]"], &[]);
        let texts = texts.unwrap();
        let texts: Vec<Option<&str>> = texts.as_string_view().iter().collect();
        let expected =
            [Some("a\né"), Some("100.0"), Some("true"), None, Some("plain"), Some("[ 1 ]")];
        assert_eq!(texts, expected);
    }
}
