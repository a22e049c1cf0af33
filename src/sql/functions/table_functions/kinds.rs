//! Infers the types of columns from values of CSV and JSON.
//!
//! Each value has a type, and two types have one that holds the values of both.

use arrow::datatypes::{DataType, Field, Fields};
use model::JsonMembers;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;

/// Levels of lists and objects that become nested columns; deeper values stay JSON text.
const DEEPEST: usize = 16;
/// Members that an object may have in all rows together. With more, names are likely values, so the object stays JSON
/// text.
const MOST_MEMBERS: usize = 200;
/// 2^53: a double holds every whole number up to it.
const EXACT: i64 = 9_007_199_254_740_992;

#[derive(Clone, Debug)]
pub(super) enum CellValue<'r> {
    /// JSON text; lists and objects in canonical form.
    Json(Cow<'r, str>),
    /// A number of CSV, as the file has it.
    Number(&'r str),
    /// A text, decoded.
    Text(Cow<'r, str>),
}

/// The type of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum CellKind {
    /// Only nulls so far.
    #[default]
    Null,
    Bool,
    /// Integers that a double holds exactly.
    Int,
    /// Integers of 64 bits; a double cannot represent all of them.
    Long,
    Float,
    /// Texts; other values become the JSON that spells them.
    Text,
    List(Box<Self>),
    Object(Vec<(String, Self)>),
}

impl CellKind {
    pub(super) fn of(cell: &CellValue<'_>) -> Self {
        match cell {
            CellValue::Text(_) => Self::Text,
            CellValue::Number(spelled) => Self::of_number(spelled),
            CellValue::Json(json) => Self::of_json(json, DEEPEST),
        }
    }

    fn of_json(json: &str, levels: usize) -> Self {
        match json.as_bytes().first() {
            None | Some(b'n') => Self::Null,
            Some(b't' | b'f') => Self::Bool,
            Some(b'"') => Self::Text,
            Some(b'[' | b'{') => Self::of_nested(json, levels).unwrap_or(Self::Text),
            Some(_) => Self::of_number(json),
        }
    }

    fn of_nested(json: &str, levels: usize) -> Option<Self> {
        let levels = levels.checked_sub(1)?;
        if json.starts_with('[') {
            let kinds = elements(json).into_iter().map(|json| Self::of_json(json, levels));
            return Some(Self::List(Box::new(kinds.fold(Self::Null, Self::with))));
        }
        let kinds = members(json).into_iter();
        let kinds = kinds.map(|(name, json)| (name.into_owned(), Self::of_json(json, levels)));
        Self::object(kinds.collect())
    }

    fn object(members: Vec<(String, Self)>) -> Option<Self> {
        let is_one = !members.is_empty() && members.len() <= MOST_MEMBERS;
        is_one.then_some(Self::Object(members))
    }

    fn of_number(spelled: &str) -> Self {
        if is_spelled_whole(spelled) {
            return match spelled.parse::<i64>() {
                Ok(whole) if (-EXACT..=EXACT).contains(&whole) => Self::Int,
                Ok(_) => Self::Long,
                Err(_) => Self::Text,
            };
        }
        match spelled.parse::<f64>() {
            Ok(double) if double.is_finite() => Self::Float,
            _ => Self::Text,
        }
    }

    /// The type that holds the values of both.
    pub(super) fn with(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Null, other) | (other, Self::Null) => other,
            (Self::Int, Self::Long) | (Self::Long, Self::Int) => Self::Long,
            (Self::Int, Self::Float) | (Self::Float, Self::Int) => Self::Float,
            (Self::List(one), Self::List(other)) => Self::List(Box::new(one.with(*other))),
            (Self::Object(mut members), Self::Object(others)) => {
                for (name, kind) in others {
                    match members.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, known)) => *known = std::mem::take(known).with(kind),
                        None => members.push((name, kind)),
                    }
                }
                Self::object(members).unwrap_or(Self::Text)
            }
            _ => Self::Text,
        }
    }

    pub(super) fn data_type(&self) -> DataType {
        let field = |name: &str, kind: &Self| Arc::new(Field::new(name, kind.data_type(), true));
        match self {
            Self::Bool => DataType::Boolean,
            Self::Int | Self::Long => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Null | Self::Text => DataType::Utf8View,
            Self::List(kind) => DataType::List(field("item", kind)),
            Self::Object(members) => {
                let fields: Fields = members.iter().map(|(name, kind)| field(name, kind)).collect();
                DataType::Struct(fields)
            }
        }
    }

    /// The type in words, for errors.
    pub(super) fn words(&self) -> Cow<'static, str> {
        match self {
            Self::Null | Self::Text => "a text".into(),
            Self::Bool => "true or false".into(),
            Self::Int | Self::Long => "a whole number of 64 bits".into(),
            Self::Float => "a number that a double holds".into(),
            Self::List(_) => "a list".into(),
            Self::Object(members) => {
                let names: Vec<String> =
                    members.iter().take(8).map(|(name, _)| format!("`{name}`")).collect();
                let more = if members.len() > names.len() { ", .." } else { "" };
                format!("an object with {}{more}", names.join(", ")).into()
            }
        }
    }
}

/// Whether a number has neither a fraction nor an exponent.
fn is_spelled_whole(number: &str) -> bool {
    !number.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}

/// The number, if a double holds it.
pub(super) fn double(spelled: &str) -> Option<f64> {
    let number = spelled.parse().ok().filter(|number: &f64| number.is_finite())?;
    let is_held = !is_spelled_whole(spelled) || CellKind::of_number(spelled) == CellKind::Int;
    is_held.then_some(number)
}

/// Elements of a list, each as its JSON.
pub(super) fn elements(json: &str) -> Vec<&str> {
    let elements: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
    elements.into_iter().map(RawValue::get).collect()
}

/// Members of an object, each with its JSON.
pub(super) fn members(json: &str) -> Vec<(Cow<'_, str>, &str)> {
    let members = serde_json::from_str(json).map(|JsonMembers(members)| members);
    members.unwrap_or_default().into_iter().map(|(name, value)| (name, value.get())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(rows: &[&str]) -> CellKind {
        let kinds = rows.iter().map(|json| CellKind::of(&CellValue::Json((*json).into())));
        kinds.fold(CellKind::Null, CellKind::with)
    }

    #[test]
    fn a_column_holds_the_values_of_all_rows() {
        for (rows, expected) in [
            (&["1", "-0"][..], CellKind::Int),
            (&["null", "1", "2.5", "1e3"], CellKind::Float),
            (&["1", "9007199254740993"], CellKind::Long),
            (&["1.5", "9007199254740993"], CellKind::Text),
            (&["1", "9223372036854775808"], CellKind::Text),
            (&["1e400"], CellKind::Text),
            (&["true", "false"], CellKind::Bool),
            (&["true", "1"], CellKind::Text),
            (&["1", "\"1\""], CellKind::Text),
            (&["[]", "null"], CellKind::List(Box::new(CellKind::Null))),
            (&["[1]", "[null,2.5]"], CellKind::List(Box::new(CellKind::Float))),
            (&["[1]", "1"], CellKind::Text),
            (&["[1]", "{\"a\":1}"], CellKind::Text),
            (&["{}"], CellKind::Text),
            (
                &["{\"b\":1}", "{\"a\":true,\"b\":2.5}"],
                CellKind::Object(vec![
                    ("b".to_owned(), CellKind::Float),
                    ("a".to_owned(), CellKind::Bool),
                ]),
            ),
        ] {
            assert_eq!(kind(rows), expected, "{rows:?}");
        }
        let deep = format!("{}{}", "[".repeat(400), "]".repeat(400));
        assert_ne!(kind(&[&deep]), CellKind::Null);
        let wide: Vec<String> = (0..=MOST_MEMBERS).map(|at| format!("{{\"m{at}\":1}}")).collect();
        let wide: Vec<&str> = wide.iter().map(String::as_str).collect();
        assert_eq!(kind(&wide), CellKind::Text);
    }
}
