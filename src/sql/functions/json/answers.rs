//! Turns the part of a JSON text that was found into what each JSON function returns.

use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, ListBuilder, StringViewBuilder, UInt64Array,
};
use arrow::datatypes::{DataType, Field};
use arrow::error::ArrowError;
use model::JsonMembers;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a function returns for the part of a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum JsonAnswer {
    /// The part as it is written.
    Json,
    /// A string without its quotes, another value as it is written.
    Text,
    /// A text.
    Str,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// A truth.
    Bool,
    /// Whether the part exists.
    Contains,
    /// Elements of an array, members of an object.
    Length,
    /// Names of the members of an object.
    Keys,
    /// Elements of an array, as they are written.
    Array,
}

impl JsonAnswer {
    pub(super) fn kind(self) -> DataType {
        match self {
            Self::Json | Self::Text | Self::Str => DataType::Utf8View,
            Self::Int => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Bool | Self::Contains => DataType::Boolean,
            Self::Length => DataType::UInt64,
            Self::Keys | Self::Array => {
                DataType::List(Arc::new(Field::new_list_field(DataType::Utf8View, true)))
            }
        }
    }

    /// The answers for parts; null for a missing part. `Contains` is null only where the text is.
    pub(super) fn all<'j>(
        self,
        parts: impl Iterator<Item = Option<Part<'j>>>,
    ) -> Result<ArrayRef, ArrowError> {
        let found = |part: Option<Part<'j>>| part.and_then(|part| part.found);
        Ok(match self {
            Self::Json => texts(parts.map(|part| found(part).filter(|json| *json != "null")))?,
            Self::Text => texts(parts.map(|part| text(found(part)?)))?,
            Self::Str => texts(parts.map(|part| string(found(part)?)))?,
            Self::Int => Arc::new(Int64Array::from_iter(parts.map(|part| int(found(part)?)))),
            Self::Float => {
                let number = |json: &str| serde_json::from_str::<f64>(json).ok();
                Arc::new(Float64Array::from_iter(parts.map(|part| number(found(part)?))))
            }
            Self::Bool => {
                let truth = |json: &str| json.parse::<bool>().ok();
                Arc::new(parts.map(|part| truth(found(part)?)).collect::<BooleanArray>())
            }
            Self::Contains => {
                let there = |part: Option<Part<'_>>| part.map(|part| part.found.is_some());
                Arc::new(parts.map(there).collect::<BooleanArray>())
            }
            Self::Length => {
                Arc::new(UInt64Array::from_iter(parts.map(|part| length(found(part)?))))
            }
            Self::Keys => lists(parts.map(|part| keys(found(part)?)))?,
            Self::Array => lists(parts.map(|part| elements(found(part)?)))?,
        })
    }
}

/// The part that a path leads to in a JSON text.
#[derive(Clone, Copy)]
pub(super) struct Part<'j> {
    pub(super) found: Option<&'j str>,
}

fn string(json: &str) -> Option<std::borrow::Cow<'_, str>> {
    if !json.starts_with('"') {
        return None;
    }
    match serde_json::from_str::<&str>(json) {
        Ok(plain) => Some(plain.into()),
        // The string has escapes.
        Err(_) => serde_json::from_str::<String>(json).ok().map(Into::into),
    }
}

fn text(json: &str) -> Option<std::borrow::Cow<'_, str>> {
    match json {
        "null" => None,
        _ if json.starts_with('"') => string(json),
        _ => Some(json.into()),
    }
}

/// A whole number, also one that is written as `2.0` or `1e3`.
fn int(json: &str) -> Option<i64> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if let Ok(number) = serde_json::from_str::<i64>(json) {
        return Some(number);
    }
    let number = serde_json::from_str::<f64>(json).ok()?;
    let is_whole = number.fract() == 0.0 && (-BEYOND..BEYOND).contains(&number);
    // Digits beyond the range are no 64-bit integer, whatever they are rounded to.
    (is_whole && json.contains(['.', 'e', 'E'])).then_some(number as i64)
}

fn length(json: &str) -> Option<u64> {
    let count = match json.as_bytes().first()? {
        b'[' => serde_json::from_str::<Vec<IgnoredAny>>(json).ok()?.len(),
        b'{' => serde_json::from_str::<BTreeMap<String, IgnoredAny>>(json).ok()?.len(),
        _ => return None,
    };
    u64::try_from(count).ok()
}

/// In the order in which they are written.
fn keys(json: &str) -> Option<Vec<String>> {
    let JsonMembers(members) = serde_json::from_str(json).ok()?;
    let mut seen = BTreeSet::new();
    let names = members.into_iter().map(|(name, _)| name.into_owned());
    Some(names.filter(|name| seen.insert(name.clone())).collect())
}

fn elements(json: &str) -> Option<Vec<&str>> {
    let elements = serde_json::from_str::<Vec<&RawValue>>(json).ok()?;
    Some(elements.into_iter().map(RawValue::get).collect())
}

fn texts<T: AsRef<str>>(values: impl Iterator<Item = Option<T>>) -> Result<ArrayRef, ArrowError> {
    let mut built = StringViewBuilder::new();
    for value in values {
        match value {
            Some(value) => built.try_append_value(value)?,
            None => built.append_null(),
        }
    }
    Ok(Arc::new(built.finish()))
}

fn lists<T: AsRef<str>>(
    values: impl Iterator<Item = Option<Vec<T>>>,
) -> Result<ArrayRef, ArrowError> {
    let mut built = ListBuilder::new(StringViewBuilder::new());
    for value in values {
        for text in value.iter().flatten() {
            built.values().try_append_value(text)?;
        }
        built.append(value.is_some());
    }
    Ok(Arc::new(built.finish()))
}
