//! A field of a stored document gets another value: its row of metadata, and what is indexed of it.

use crate::model::DocId;
use crate::store::batch::Batch;
use crate::store::columns::Metadata;
use crate::store::error::StoreError;
use crate::store::fields;
use crate::store::rows::indexed::indexed;
use crate::store::rows::keys::DocumentKey;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

impl Batch<'_> {
    /// Writes a value into the metadata of a document that was stored before this batch, under the name of a field,
    /// and into the columns and postings of what is indexed; `null` takes the field away. Answers whether anything
    /// changed. What the record was recognised by stays as it is: ingested again it is still unchanged.
    ///
    /// At most one value a document and batch.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read, or for metadata that is no JSON object.
    pub fn set_field(
        &mut self,
        document: DocId,
        name: &str,
        value: &RawValue,
    ) -> Result<bool, StoreError> {
        let view = self.view().clone();
        let before = view.metadata(document)?;
        let now = with_field(&before, name, value).map_err(|why| StoreError::Encode {
            what: "metadata",
            why: format!("document {document}: {why}"),
        })?;
        if now == before {
            return Ok(false);
        }
        let key = DocumentKey { document };
        if now == "{}" {
            self.delete::<Metadata>(&key)?;
        } else {
            self.put::<Metadata>(&key, now.as_bytes())?;
        }
        let (old, new) = (indexed(&before, view.fields()), indexed(&now, view.fields()));
        for (field, keyword) in &old.keywords {
            if !new.keywords.contains(&(*field, keyword.clone())) {
                self.unmark(*field, &fields::keyword_value(keyword), document)?;
                self.number_or_null(fields::column_of(*field), document, None);
            }
        }
        for (field, keyword) in &new.keywords {
            if !old.keywords.contains(&(*field, keyword.clone())) {
                let term = self.mark(*field, &fields::keyword_value(keyword), document)?;
                self.number_or_null(fields::column_of(*field), document, Some(term.0.into()));
            }
        }
        for (field, _) in &old.numbers {
            if !new.numbers.iter().any(|(other, _)| other == field) {
                self.number_or_null(fields::column_of(*field), document, None);
            }
        }
        for (field, number) in &new.numbers {
            if !old.numbers.contains(&(*field, *number)) {
                self.number_or_null(fields::column_of(*field), document, Some(*number));
            }
        }
        Ok(true)
    }
}

/// A JSON object with another value under a name; all else as it is spelled, in its order.
fn with_field(object: &str, name: &str, value: &RawValue) -> Result<String, serde_json::Error> {
    let members: Members<'_> = serde_json::from_str(object)?;
    let mut out = String::with_capacity(object.len() + name.len() + value.get().len() + 4);
    out.push('{');
    let mut push = |name: &str, raw: &str| -> Result<(), serde_json::Error> {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&serde_json::to_string(name)?);
        out.push(':');
        out.push_str(raw);
        Ok(())
    };
    let mut is_placed = value.get() == "null";
    for (other, raw) in members.0 {
        if other != name {
            push(&other, raw.get())?;
        } else if !is_placed {
            is_placed = true;
            push(name, value.get())?;
        }
    }
    if !is_placed {
        push(name, value.get())?;
    }
    out.push('}');
    Ok(out)
}

/// The members of an object in their order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_put_in_its_place_and_all_else_stays_as_spelled() {
        let with = |object: &str, name: &str, raw: &str| {
            with_field(object, name, &RawValue::from_string(raw.to_owned()).unwrap()).unwrap()
        };
        assert_eq!(with("{}", "a", "1.50"), r#"{"a":1.50}"#);
        assert_eq!(with(r#"{"b":[1, 2],"a":null}"#, "a", "7"), r#"{"b":[1, 2],"a":7}"#);
        assert_eq!(with(r#"{"a":1,"b":1e3}"#, "a", "null"), r#"{"b":1e3}"#);
        assert_eq!(with(r#"{"a":1}"#, "a", "null"), "{}");
        assert_eq!(with("{}", "a", "null"), "{}");
        assert_eq!(with(r#"{"x\"y":1}"#, "é\n", "\"v\""), r#"{"x\"y":1,"é\n":"v"}"#);
        assert_eq!(with(r#"{"a":1,"a":2}"#, "a", "3"), r#"{"a":3}"#);
    }
}
