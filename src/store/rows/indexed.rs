//! Which values of a record's other fields are indexed: one rule for ingest and for check.

use crate::model::{FieldDeclaration, FieldId, FieldKind, sortable_float};
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
    let mut found = Indexed::default();
    if metadata == "{}" {
        return found;
    }
    let Ok(values) = serde_json::from_str::<BTreeMap<&str, &RawValue>>(metadata) else {
        return slow(metadata, declared);
    };
    pick(|name| values.get(name).map(|raw| raw.get()), declared, &mut found);
    found
}

/// For objects whose keys are spelled with escapes, which cannot be borrowed.
fn slow(metadata: &str, declared: &[FieldDeclaration]) -> Indexed {
    let mut found = Indexed::default();
    if let Ok(values) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(metadata) {
        pick(|name| values.get(name).map(|raw| raw.get()), declared, &mut found);
    }
    found
}

fn pick<'a>(
    value: impl Fn(&str) -> Option<&'a str>,
    declared: &[FieldDeclaration],
    found: &mut Indexed,
) {
    let language_is_declared = declared.iter().any(|field| field.name == "language");
    if !language_is_declared && let Some(language) = value("language").and_then(keyword) {
        found.keywords.push((fields::LANGUAGE, language));
    }
    for field in declared {
        let Some(raw) = value(&field.name) else {
            continue;
        };
        match field.kind {
            FieldKind::Keyword => found.keywords.extend(keyword(raw).map(|text| (field.id, text))),
            FieldKind::Int => {
                let number = i64::deserialize(&mut serde_json::Deserializer::from_str(raw)).ok();
                found.numbers.extend(number.map(|number| (field.id, number)));
            }
            FieldKind::Float => {
                let number = f64::deserialize(&mut serde_json::Deserializer::from_str(raw)).ok();
                found.numbers.extend(number.map(|number| (field.id, sortable_float(number))));
            }
        }
    }
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
}
