//! Splits a record's other fields into values that are indexed and values that their types cannot hold.
//!
//! Ingest and check share this rule.

use crate::system_fields;
use model::{
    FieldDeclaration, FieldId, FieldKind, FieldValue, Misfit, earlier_column_numbers, value_excerpt,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The indexed values of one record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexedValues {
    /// Values of `language` and of declared keyword fields.
    pub keywords: Vec<(FieldId, String)>,
    /// Values of declared numbers, in the integer form of columns.
    pub numbers: Vec<(FieldId, i64)>,
    /// Declared fields whose value is of another type, with the beginning of that value.
    pub misfits: Vec<(FieldId, String)>,
}

impl IndexedValues {
    /// These values, with numbers that JSON cannot say, by the members that they stand in, among the misfits.
    #[must_use]
    pub fn with_not_finite(
        mut self,
        not_finite: &[(String, &'static str)],
        declared: &[FieldDeclaration],
    ) -> Self {
        for (member, spelled) in not_finite {
            let of_member = declared.iter().filter(|field| field.member() == member);
            self.misfits.extend(of_member.map(|field| (field.id, (*spelled).to_owned())));
        }
        self
    }
}

/// Picks the indexed values out of a JSON object. A value of another type than its field's is not indexed, and stays in
/// the metadata ([`FieldValue::of_json`]).
#[must_use]
pub fn indexed(metadata: &str, declared: &[FieldDeclaration]) -> IndexedValues {
    look(metadata, |members| {
        let mut found = IndexedValues::default();
        // One that is fed from elsewhere stands beside that of every corpus.
        let has_own = declared.iter().any(|field| field.name == "language" && field.path.is_none());
        if !has_own
            && let Some(raw) = members.get("language")
            && let FieldContent::Keyword(language) = of_kind(raw, FieldKind::Keyword)
        {
            found.keywords.push((system_fields::LANGUAGE, language));
        }
        for field in declared {
            let Some(raw) = spelled(members, field) else { continue };
            match of_kind(raw, field.kind) {
                FieldContent::Keyword(text) => found.keywords.push((field.id, text)),
                FieldContent::Number(number) => found.numbers.push((field.id, number)),
                FieldContent::IllTyped => found.misfits.push((field.id, value_excerpt(raw))),
                FieldContent::Nothing => {}
            }
        }
        found
    })
    .unwrap_or_default()
}

/// What a record has for a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldContent {
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
pub fn found(metadata: &str, field: &FieldDeclaration) -> FieldContent {
    let found = |members: &IndexedMembers<'_>| {
        spelled(members, field).map_or(FieldContent::Nothing, |raw| of_kind(raw, field.kind))
    };
    look(metadata, found).unwrap_or(FieldContent::Nothing)
}

/// Whether a number that is stored for a field, or none, is what an earlier release read of a JSON object
/// ([`earlier_column_numbers`]).
#[must_use]
pub fn is_of_earlier_release(
    metadata: &str,
    field: &FieldDeclaration,
    stored: Option<i64>,
) -> bool {
    let earlier = |members: &IndexedMembers<'_>| {
        spelled(members, field).map(|raw| earlier_column_numbers(raw, field.kind))
    };
    look(metadata, earlier).flatten().unwrap_or_default().contains(&stored)
}

/// The members of an object by name, each as it is spelled.
enum IndexedMembers<'a> {
    Borrowed(BTreeMap<&'a str, &'a RawValue>),
    /// Where a name is spelled with escapes, which cannot be borrowed.
    Owned(BTreeMap<String, Box<RawValue>>),
}

impl IndexedMembers<'_> {
    fn of(object: &str) -> Option<IndexedMembers<'_>> {
        if let Ok(members) = serde_json::from_str(object) {
            return Some(IndexedMembers::Borrowed(members));
        }
        serde_json::from_str(object).ok().map(IndexedMembers::Owned)
    }

    fn get(&self, name: &str) -> Option<&str> {
        match self {
            Self::Borrowed(members) => members.get(name).map(|raw| raw.get()),
            Self::Owned(members) => members.get(name).map(|raw| raw.get()),
        }
    }
}

fn look<T>(metadata: &str, at: impl FnOnce(&IndexedMembers<'_>) -> T) -> Option<T> {
    if metadata == "{}" {
        return None;
    }
    IndexedMembers::of(metadata).map(|members| at(&members))
}

/// The value of a field as it is spelled: of its member, or, if no member has that name, of members within one another.
fn spelled<'m>(members: &'m IndexedMembers<'_>, field: &FieldDeclaration) -> Option<&'m str> {
    if let Some(raw) = members.get(field.member()) {
        return Some(raw);
    }
    let (first, mut path) = field.path.as_deref()?.split_once('.')?;
    let mut object = members.get(first)?;
    loop {
        let (name, rest) = match path.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (path, None),
        };
        object = member(object, name)?;
        match rest {
            None => return Some(object),
            Some(rest) => path = rest,
        }
    }
}

/// A member of an object as it is spelled; of several under one name the last.
fn member<'o>(object: &'o str, name: &str) -> Option<&'o str> {
    let members: BTreeMap<Cow<'o, str>, &'o RawValue> = serde_json::from_str(object).ok()?;
    members.get(name).map(|raw| raw.get())
}

fn of_kind(raw: &str, kind: FieldKind) -> FieldContent {
    match FieldValue::of_json(raw, kind) {
        Err(Misfit) => FieldContent::IllTyped,
        Ok(None) => FieldContent::Nothing,
        Ok(Some(FieldValue::Keyword(text))) => FieldContent::Keyword(text),
        Ok(Some(value)) => {
            value.column_number().map_or(FieldContent::Nothing, FieldContent::Number)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::sortable_float;

    #[test]
    fn values_of_the_declared_kind_are_indexed_and_others_are_not() {
        let field = |id, name: &str, kind| FieldDeclaration {
            id: FieldId(id),
            name: name.to_owned(),
            kind,
            path: None,
            rule: kind.rule(),
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
            [(system_fields::LANGUAGE, "en".to_owned()), (FieldId(16), "ab".to_owned())]
        );
        assert_eq!(found.numbers, [(FieldId(17), -3), (FieldId(18), sortable_float(0.5))]);
        let none =
            indexed(r#"{"language":null,"url":["a"],"year":1.5,"quality":"high"}"#, &declared);
        let misfits = [(16, r#"["a"]"#), (17, "1.5"), (18, r#""high""#)];
        let misfits = misfits.map(|(field, value)| (FieldId(field), value.to_owned()));
        assert_eq!(none, IndexedValues { misfits: misfits.into(), ..IndexedValues::default() });
        let escaped = indexed(r#"{"\u0075rl":true,"quality":2}"#, &declared);
        assert_eq!(escaped.keywords, [(FieldId(16), "true".to_owned())]);
        assert_eq!(escaped.numbers, [(FieldId(18), sortable_float(2.0))]);
    }

    #[test]
    fn a_member_named_like_a_path_comes_first() {
        let field = |path: &str, kind| FieldDeclaration {
            id: FieldId(16),
            name: "f".to_owned(),
            kind,
            path: Some(path.to_owned()),
            rule: kind.rule(),
        };
        let float = |path: &str, metadata: &str| found(metadata, &field(path, FieldKind::Float));
        let number = |number: f64| FieldContent::Number(sortable_float(number));
        assert_eq!(float("a.b.c", r#"{"a":{"b":{"c":1.5}},"f":9}"#), number(1.5));
        assert_eq!(float("a.b.c", r#"{"a":{"b":{"c":1.5}},"a.b.c":2}"#), number(2.0));
        assert_eq!(float("a.b.c", r#"{"a":{"b":{"c":1.5}},"a.b.c":null}"#), FieldContent::Nothing);
        assert_eq!(float("a.b.c", r#"{"a":{"b":[1]}}"#), FieldContent::Nothing);
        assert_eq!(float("a.b.c", r#"{"a":{"b":{"c":"x"}}}"#), FieldContent::IllTyped);
        assert_eq!(float("lang", r#"{"l\u0061ng":7}"#), number(7.0));
        let of = |kind, raw: &str| found(&format!(r#"{{"m":{raw}}}"#), &field("m", kind));
        assert_eq!(of(FieldKind::Bool, "true"), FieldContent::Number(1));
        assert_eq!(of(FieldKind::Bool, "1"), FieldContent::IllTyped);
        assert_eq!(of(FieldKind::Timestamp, "12"), FieldContent::Number(12_000_000));
        assert_eq!(
            of(FieldKind::Timestamp, r#""1970-01-02""#),
            FieldContent::Number(86_400_000_000)
        );
        assert_eq!(of(FieldKind::Timestamp, r#""12""#), FieldContent::IllTyped);
        assert_eq!(of(FieldKind::Keyword, "null"), FieldContent::Nothing);
        assert_eq!(of(FieldKind::Keyword, "[1]"), FieldContent::IllTyped);
    }
}
