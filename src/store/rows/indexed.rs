//! Which values of a record's other fields are indexed: one rule for ingest and for check.

use crate::model::{
    FieldDeclaration, FieldId, FieldKind, sortable_float, timestamp_of_seconds, timestamp_of_text,
};
use crate::store::fields;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The indexed values of one record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexed {
    /// Values of `language` and of declared keyword fields.
    pub keywords: Vec<(FieldId, String)>,
    /// Values of declared numbers, in the integer form of columns.
    pub numbers: Vec<(FieldId, i64)>,
}

/// Picks the indexed values out of a JSON object. A value of another kind than its field's is not
/// indexed (it stays in the metadata): lists, objects, null, a fraction for an `int`, text for a
/// number. Numbers and booleans of a keyword field are indexed as they are spelled.
#[must_use]
pub fn indexed(metadata: &str, declared: &[FieldDeclaration]) -> Indexed {
    look(metadata, |members| {
        let mut found = Indexed::default();
        // One that is fed from elsewhere stands beside that of every corpus.
        let has_own = declared.iter().any(|field| field.name == "language" && field.path.is_none());
        if !has_own && let Some(language) = members.get("language").and_then(keyword) {
            found.keywords.push((fields::LANGUAGE, language));
        }
        for field in declared {
            match value(members, field) {
                Found::Keyword(text) => found.keywords.push((field.id, text)),
                Found::Number(number) => found.numbers.push((field.id, number)),
                Found::IllTyped | Found::Nothing => {}
            }
        }
        found
    })
    .unwrap_or_default()
}

/// What a record has for a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A keyword.
    Keyword(String),
    /// A number, in the integer form of columns.
    Number(i64),
    /// A value of another type.
    IllTyped,
    /// None, or null.
    Nothing,
}

/// What a JSON object has for one field.
#[must_use]
pub fn found(metadata: &str, field: &FieldDeclaration) -> Found {
    look(metadata, |members| value(members, field)).unwrap_or(Found::Nothing)
}

/// Whether a value, spelled as JSON, can be indexed as a kind, or is null.
#[must_use]
pub fn is_of_kind(raw: &str, kind: FieldKind) -> bool {
    of_kind(raw, kind) != Found::IllTyped
}

/// The members of an object by name, each as it is spelled.
enum Members<'a> {
    Borrowed(BTreeMap<&'a str, &'a RawValue>),
    /// Where a name is spelled with escapes, which cannot be borrowed.
    Owned(BTreeMap<String, Box<RawValue>>),
}

impl Members<'_> {
    fn of(object: &str) -> Option<Members<'_>> {
        if let Ok(members) = serde_json::from_str(object) {
            return Some(Members::Borrowed(members));
        }
        serde_json::from_str(object).ok().map(Members::Owned)
    }

    fn get(&self, name: &str) -> Option<&str> {
        match self {
            Self::Borrowed(members) => members.get(name).map(|raw| raw.get()),
            Self::Owned(members) => members.get(name).map(|raw| raw.get()),
        }
    }
}

fn look<T>(metadata: &str, at: impl FnOnce(&Members<'_>) -> T) -> Option<T> {
    if metadata == "{}" {
        return None;
    }
    Members::of(metadata).map(|members| at(&members))
}

/// The value of a field: of its member, and where there is none of that very name, of members within one another.
fn value(members: &Members<'_>, field: &FieldDeclaration) -> Found {
    if let Some(raw) = members.get(field.member()) {
        return of_kind(raw, field.kind);
    }
    let Some((first, rest)) = field.path.as_deref().and_then(|path| path.split_once('.')) else {
        return Found::Nothing;
    };
    members.get(first).map_or(Found::Nothing, |raw| within(raw, rest, field.kind))
}

fn within(object: &str, path: &str, kind: FieldKind) -> Found {
    let Some(members) = Members::of(object) else { return Found::Nothing };
    match path.split_once('.') {
        None => members.get(path).map_or(Found::Nothing, |raw| of_kind(raw, kind)),
        Some((first, rest)) => {
            members.get(first).map_or(Found::Nothing, |raw| within(raw, rest, kind))
        }
    }
}

fn of_kind(raw: &str, kind: FieldKind) -> Found {
    if raw == "null" {
        return Found::Nothing;
    }
    let number = match kind {
        FieldKind::Keyword => return keyword(raw).map_or(Found::IllTyped, Found::Keyword),
        FieldKind::Int => i64::deserialize(&mut serde_json::Deserializer::from_str(raw)).ok(),
        FieldKind::Float => {
            let number = f64::deserialize(&mut serde_json::Deserializer::from_str(raw)).ok();
            number.map(sortable_float)
        }
        FieldKind::Bool => match raw {
            "true" => Some(1),
            "false" => Some(0),
            _ => None,
        },
        FieldKind::Timestamp if raw.starts_with('"') => {
            serde_json::from_str::<String>(raw).ok().and_then(|text| timestamp_of_text(&text))
        }
        FieldKind::Timestamp => timestamp_of_seconds(raw),
    };
    number.map_or(Found::IllTyped, Found::Number)
}

fn keyword(raw: &str) -> Option<String> {
    match raw.bytes().next()? {
        b'"' => serde_json::from_str(raw).ok(),
        b'[' | b'{' | b'n' => None,
        _ => Some(raw.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_declared_kind_are_indexed_and_others_are_not() {
        let field = |id, name: &str, kind| FieldDeclaration {
            id: FieldId(id),
            name: name.to_owned(),
            kind,
            path: None,
        };
        let declared = [
            field(16, "url", FieldKind::Keyword),
            field(17, "year", FieldKind::Int),
            field(18, "quality", FieldKind::Float),
        ];
        let found = indexed(
            r#"{"language":"en","url":"a\u0062","year":-3,"quality":0.5,"other":[1]}"#,
            &declared,
        );
        assert_eq!(
            found.keywords,
            [(fields::LANGUAGE, "en".to_owned()), (FieldId(16), "ab".to_owned())]
        );
        assert_eq!(found.numbers, [(FieldId(17), -3), (FieldId(18), sortable_float(0.5))]);
        let none =
            indexed(r#"{"language":null,"url":["a"],"year":1.5,"quality":"high"}"#, &declared);
        assert_eq!(none, Indexed::default());
        let escaped = indexed(r#"{"\u0075rl":true,"quality":2}"#, &declared);
        assert_eq!(escaped.keywords, [(FieldId(16), "true".to_owned())]);
        assert_eq!(escaped.numbers, [(FieldId(18), sortable_float(2.0))]);
    }

    #[test]
    fn values_stand_under_a_path_and_a_member_of_its_very_name_comes_first() {
        let field = |path: &str, kind| FieldDeclaration {
            id: FieldId(16),
            name: "f".to_owned(),
            kind,
            path: Some(path.to_owned()),
        };
        let float = |path: &str, metadata: &str| found(metadata, &field(path, FieldKind::Float));
        let number = |number: f64| Found::Number(sortable_float(number));
        assert_eq!(float("a.b.c", r#"{"a":{"b":{"c":1.5}},"f":9}"#), number(1.5));
        assert_eq!(float("a.b.c", r#"{"a":{"b":{"c":1.5}},"a.b.c":2}"#), number(2.0));
        assert_eq!(float("a.b.c", r#"{"a":{"b":{"c":1.5}},"a.b.c":null}"#), Found::Nothing);
        assert_eq!(float("a.b.c", r#"{"a":{"b":[1]}}"#), Found::Nothing);
        assert_eq!(float("a.b.c", r#"{"a":{"b":{"c":"x"}}}"#), Found::IllTyped);
        assert_eq!(float("lang", r#"{"l\u0061ng":7}"#), number(7.0));
        let of = |kind, raw: &str| found(&format!(r#"{{"m":{raw}}}"#), &field("m", kind));
        assert_eq!(of(FieldKind::Bool, "true"), Found::Number(1));
        assert_eq!(of(FieldKind::Bool, "1"), Found::IllTyped);
        assert_eq!(of(FieldKind::Timestamp, "12"), Found::Number(12_000_000));
        assert_eq!(of(FieldKind::Timestamp, r#""1970-01-02""#), Found::Number(86_400_000_000));
        assert_eq!(of(FieldKind::Timestamp, r#""12""#), Found::IllTyped);
        assert_eq!(of(FieldKind::Keyword, "null"), Found::Nothing);
        assert_eq!(of(FieldKind::Keyword, "[1]"), Found::IllTyped);
    }
}
