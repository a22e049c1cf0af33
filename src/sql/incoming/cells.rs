//! Reads the values of an incoming record that a condition names, and makes arrays of them.

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, NullArray, StringViewArray};
use arrow::datatypes::DataType;
use model::Incoming;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Columns that every record has, whatever its fields are called.
pub(super) const BUILT_IN: [&str; 6] = ["key", "source", "text", "bytes", "chars", "meta"];

/// Longest text that a column takes.
const LONGEST: usize = 2 << 30;

/// The type of a value, as it is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RecordValueKind {
    /// Absent, or null.
    Missing,
    Bool,
    Int,
    Float,
    Text,
}

impl RecordValueKind {
    pub(super) const ALL: [Self; 5] =
        [Self::Missing, Self::Bool, Self::Int, Self::Float, Self::Text];

    pub(super) const fn data_type(self) -> DataType {
        match self {
            Self::Missing => DataType::Null,
            Self::Bool => DataType::Boolean,
            Self::Int => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Text => DataType::Utf8View,
        }
    }
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RecordValue<'r> {
    Missing,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'r, str>),
}

impl RecordValue<'_> {
    pub(super) const fn kind(&self) -> RecordValueKind {
        match self {
            Self::Missing => RecordValueKind::Missing,
            Self::Bool(_) => RecordValueKind::Bool,
            Self::Int(_) => RecordValueKind::Int,
            Self::Float(_) => RecordValueKind::Float,
            Self::Text(_) => RecordValueKind::Text,
        }
    }

    /// Bytes of a text.
    pub(super) fn bytes(&self) -> usize {
        if let Self::Text(text) = self { text.len() } else { 0 }
    }
}

/// The values of a record for `names`, or why the condition cannot be evaluated for it.
pub(super) fn row<'r>(
    record: &Incoming<'r>,
    names: &[String],
) -> Result<Vec<RecordValue<'r>>, String> {
    let count = |n: usize| RecordValue::Int(i64::try_from(n).unwrap_or(i64::MAX));
    let text = |text: Option<&'r str>| {
        text.map_or(RecordValue::Missing, |t| RecordValue::Text(Cow::Borrowed(t)))
    };
    let built_in = |name: &String| match name.as_str() {
        "key" => text(record.key),
        "source" => text(Some(record.source)),
        "text" => text(record.text),
        "bytes" => record.text.map_or(RecordValue::Missing, |text| count(text.len())),
        "chars" => record.text.map_or(RecordValue::Missing, |text| count(text.chars().count())),
        "meta" => text(Some(record.fields)),
        _ => RecordValue::Missing,
    };
    let mut cells: Vec<RecordValue<'r>> = names.iter().map(built_in).collect();
    if names.iter().any(|name| !BUILT_IN.contains(&name.as_str())) {
        let fields = RecordFieldVisitor { names, cells: &mut cells };
        let mut parser = serde_json::Deserializer::from_str(record.fields);
        parser.deserialize_map(fields).map_err(|error| error.to_string())?;
    }
    match cells.iter().any(|cell| cell.bytes() >= LONGEST) {
        true => Err(format!("a text of {LONGEST} bytes or more cannot be used in a condition")),
        false => Ok(cells),
    }
}

/// The array of a column of one kind.
pub(super) fn array<'a, 'r: 'a>(
    kind: RecordValueKind,
    cells: impl ExactSizeIterator<Item = &'a RecordValue<'r>>,
) -> ArrayRef {
    match kind {
        RecordValueKind::Missing => Arc::new(NullArray::new(cells.len())),
        RecordValueKind::Bool => Arc::new(BooleanArray::from_iter(cells.map(|cell| match cell {
            RecordValue::Bool(truth) => Some(*truth),
            _ => None,
        }))),
        RecordValueKind::Int => Arc::new(Int64Array::from_iter(cells.map(|cell| match cell {
            RecordValue::Int(number) => Some(*number),
            _ => None,
        }))),
        RecordValueKind::Float => Arc::new(Float64Array::from_iter(cells.map(|cell| match cell {
            RecordValue::Float(number) => Some(*number),
            _ => None,
        }))),
        RecordValueKind::Text => {
            Arc::new(StringViewArray::from_iter(cells.map(|cell| match cell {
                RecordValue::Text(text) => Some(text.as_ref()),
                _ => None,
            })))
        }
    }
}

/// Collects the fields of an object that have a column; of several under one name the last.
struct RecordFieldVisitor<'a, 'r> {
    names: &'a [String],
    cells: &'a mut Vec<RecordValue<'r>>,
}

impl<'r> Visitor<'r> for RecordFieldVisitor<'_, 'r> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'r>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Cow<'r, str>>()? {
            let raw: &'r RawValue = map.next_value()?;
            let at = self.names.iter().position(|known| *known == name);
            let at = at.filter(|_| !BUILT_IN.contains(&name.as_ref()));
            if let Some(cell) = at.and_then(|at| self.cells.get_mut(at)) {
                *cell = value(raw.get()).map_err(serde::de::Error::custom)?;
            }
        }
        Ok(())
    }
}

/// Reads a JSON value: a number without fraction and exponent that 64 bits hold is an integer, a list or an object is
/// its JSON text.
fn value(raw: &str) -> Result<RecordValue<'_>, serde_json::Error> {
    Ok(match raw.as_bytes().first() {
        Some(b'n') | None => RecordValue::Missing,
        Some(b't') => RecordValue::Bool(true),
        Some(b'f') => RecordValue::Bool(false),
        Some(b'"') => match serde_json::from_str::<&str>(raw) {
            Ok(plain) => RecordValue::Text(Cow::Borrowed(plain)),
            Err(_) => RecordValue::Text(Cow::Owned(serde_json::from_str(raw)?)),
        },
        Some(b'[' | b'{') => RecordValue::Text(Cow::Borrowed(raw)),
        Some(_) => match raw.parse::<i64>() {
            Ok(whole) => RecordValue::Int(whole),
            Err(_) => raw
                .parse()
                .ok()
                .filter(|n: &f64| n.is_finite())
                .map_or(RecordValue::Missing, RecordValue::Float),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_their_spelling_and_the_last_of_a_name_wins() {
        let fields = "{\"a\":1,\"b\":1.0,\"c\":\"x\\ny\",\"d\":[1, 2],\"e\":null,\"f\":true,\"g\":9e99999,\
                      \"h\":99999999999999999999,\"a\":2,\"text\":\"other\"}";
        let record = Incoming { key: None, source: "web", text: Some("é!"), fields };
        let names =
            ["a", "b", "c", "d", "e", "f", "g", "h", "none", "text", "bytes", "chars", "key"];
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let text = |text: &'static str| RecordValue::Text(Cow::Borrowed(text));
        assert_eq!(
            row(&record, &names).unwrap(),
            [
                RecordValue::Int(2),
                RecordValue::Float(1.0),
                text("x\ny"),
                text("[1, 2]"),
                RecordValue::Missing,
                RecordValue::Bool(true),
                RecordValue::Missing,
                RecordValue::Float(1e20),
                RecordValue::Missing,
                text("é!"),
                RecordValue::Int(3),
                RecordValue::Int(2),
                RecordValue::Missing,
            ]
        );
    }
}
