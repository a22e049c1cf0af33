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
pub(super) enum Kind {
    /// Absent, or null.
    Missing,
    Bool,
    Int,
    Float,
    Text,
}

impl Kind {
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
pub(super) enum Cell<'r> {
    Missing,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'r, str>),
}

impl Cell<'_> {
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Missing => Kind::Missing,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) => Kind::Int,
            Self::Float(_) => Kind::Float,
            Self::Text(_) => Kind::Text,
        }
    }

    /// Bytes of a text.
    pub(super) fn bytes(&self) -> usize {
        if let Self::Text(text) = self { text.len() } else { 0 }
    }
}

/// The values of a record for `names`, or why the condition cannot be evaluated for it.
pub(super) fn row<'r>(record: &Incoming<'r>, names: &[String]) -> Result<Vec<Cell<'r>>, String> {
    let count = |n: usize| Cell::Int(i64::try_from(n).unwrap_or(i64::MAX));
    let text = |text: Option<&'r str>| text.map_or(Cell::Missing, |t| Cell::Text(Cow::Borrowed(t)));
    let built_in = |name: &String| match name.as_str() {
        "key" => text(record.key),
        "source" => text(Some(record.source)),
        "text" => text(record.text),
        "bytes" => record.text.map_or(Cell::Missing, |text| count(text.len())),
        "chars" => record.text.map_or(Cell::Missing, |text| count(text.chars().count())),
        "meta" => text(Some(record.fields)),
        _ => Cell::Missing,
    };
    let mut cells: Vec<Cell<'r>> = names.iter().map(built_in).collect();
    if names.iter().any(|name| !BUILT_IN.contains(&name.as_str())) {
        let fields = Fields { names, cells: &mut cells };
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
    kind: Kind,
    cells: impl ExactSizeIterator<Item = &'a Cell<'r>>,
) -> ArrayRef {
    match kind {
        Kind::Missing => Arc::new(NullArray::new(cells.len())),
        Kind::Bool => Arc::new(BooleanArray::from_iter(cells.map(|cell| match cell {
            Cell::Bool(truth) => Some(*truth),
            _ => None,
        }))),
        Kind::Int => Arc::new(Int64Array::from_iter(cells.map(|cell| match cell {
            Cell::Int(number) => Some(*number),
            _ => None,
        }))),
        Kind::Float => Arc::new(Float64Array::from_iter(cells.map(|cell| match cell {
            Cell::Float(number) => Some(*number),
            _ => None,
        }))),
        Kind::Text => Arc::new(StringViewArray::from_iter(cells.map(|cell| match cell {
            Cell::Text(text) => Some(text.as_ref()),
            _ => None,
        }))),
    }
}

/// Collects the fields of an object that have a column; of several under one name the last.
struct Fields<'a, 'r> {
    names: &'a [String],
    cells: &'a mut Vec<Cell<'r>>,
}

impl<'r> Visitor<'r> for Fields<'_, 'r> {
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
fn value(raw: &str) -> Result<Cell<'_>, serde_json::Error> {
    Ok(match raw.as_bytes().first() {
        Some(b'n') | None => Cell::Missing,
        Some(b't') => Cell::Bool(true),
        Some(b'f') => Cell::Bool(false),
        Some(b'"') => match serde_json::from_str::<&str>(raw) {
            Ok(plain) => Cell::Text(Cow::Borrowed(plain)),
            Err(_) => Cell::Text(Cow::Owned(serde_json::from_str(raw)?)),
        },
        Some(b'[' | b'{') => Cell::Text(Cow::Borrowed(raw)),
        Some(_) => match raw.parse::<i64>() {
            Ok(whole) => Cell::Int(whole),
            Err(_) => {
                raw.parse().ok().filter(|n: &f64| n.is_finite()).map_or(Cell::Missing, Cell::Float)
            }
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
        let text = |text: &'static str| Cell::Text(Cow::Borrowed(text));
        assert_eq!(
            row(&record, &names).unwrap(),
            [
                Cell::Int(2),
                Cell::Float(1.0),
                text("x\ny"),
                text("[1, 2]"),
                Cell::Missing,
                Cell::Bool(true),
                Cell::Missing,
                Cell::Float(1e20),
                Cell::Missing,
                text("é!"),
                Cell::Int(3),
                Cell::Int(2),
                Cell::Missing,
            ]
        );
    }
}
