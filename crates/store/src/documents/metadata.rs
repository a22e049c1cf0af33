//! Other values for the user's fields of a stored document, with what is indexed of them.

use crate::batch::CommitBatch;
use crate::documents::indexed_values::{IndexedValues, indexed};
use crate::error::StoreError;
use crate::system_fields;
use model::{
    ComparedPart, DocId, Error, FieldDeclaration, FieldId, JsonMembers, JsonObject, compared_text,
    json_string,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

impl CommitBatch<'_> {
    /// Writes values into the metadata of a document that was stored before this batch, each under the name of a
    /// member, one after the other, and into the columns and postings of what is indexed; `null` takes a member away,
    /// or hides what a field would be fed from. Answers whether anything changed. What the record was recognised by
    /// stays as it is: ingested again it is still unchanged.
    ///
    /// At most once a document and batch.
    ///
    /// # Errors
    /// [`StoreError`] for what the document is compared by, when rows cannot be read, or for
    /// metadata that is no JSON object.
    pub fn set_fields(
        &mut self,
        document: DocId,
        values: &[(&str, &RawValue)],
    ) -> Result<bool, StoreError> {
        self.set_members(document, values, &[])
    }

    /// Fills one field that has no indexed value for this document yet, as [`CommitBatch::set_fields`] does: a value
    /// that the metadata have already is indexed too.
    ///
    /// # Errors
    /// As [`CommitBatch::set_fields`].
    pub fn fill_field(
        &mut self,
        document: DocId,
        field: &FieldDeclaration,
        value: &RawValue,
    ) -> Result<bool, StoreError> {
        self.set_members(document, &[(field.member(), value)], &[field.id])
    }

    /// Fills several fields in their order, as [`CommitBatch::fill_field`] does.
    ///
    /// # Errors
    /// As [`CommitBatch::set_fields`].
    pub fn fill_fields(
        &mut self,
        document: DocId,
        fields: &[&FieldDeclaration],
        values: &[Box<RawValue>],
    ) -> Result<bool, StoreError> {
        let both = fields.iter().zip(values);
        let members: Vec<_> = both.map(|(field, value)| (field.member(), value.as_ref())).collect();
        let unindexed: Vec<FieldId> = fields.iter().map(|field| field.id).collect();
        self.set_members(document, &members, &unindexed)
    }

    /// `unindexed` are fields whose value in the metadata is not indexed yet.
    fn set_members(
        &mut self,
        document: DocId,
        values: &[(&str, &RawValue)],
        unindexed: &[FieldId],
    ) -> Result<bool, StoreError> {
        // Nothing is to be known of it again.
        if self.is_purged(document)? {
            return Ok(false);
        }
        let view = self.view().clone();
        let before = view.metadata(document)?;
        let declared = view.indexed_fields()?;
        let now = with_fields(&before, values, &declared).map_err(|why| StoreError::Encode {
            what: "metadata",
            why: format!("document {document}: {why}"),
        })?;
        let is_changed = now != before;
        if !is_changed && unindexed.is_empty() {
            return Ok(false);
        }
        let compared = view.policy().compared;
        if compared != ComparedPart::Text
            && compared_text(compared, "", &before, None) != compared_text(compared, "", &now, None)
        {
            let fields: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
            return Err(Error::bad_input(format!(
                "document {document} is compared by the content of its fields, `{}` among them: set another field, or ingest the changed conversation under its key",
                fields.join("`, `")
            ))
            .into());
        }
        let mut old = indexed(&before, &declared);
        old.keywords.retain(|(field, _)| !unindexed.contains(field));
        old.numbers.retain(|(field, _)| !unindexed.contains(field));
        old.misfits.retain(|(field, _)| !unindexed.contains(field));
        let new = indexed(&now, &declared);
        if is_changed {
            self.set_metadata(document, now);
        }
        if let Some(field) = view.order_field() {
            let number = |of: &IndexedValues| {
                of.numbers.iter().find(|(other, _)| *other == field).map(|(_, number)| *number)
            };
            if number(&old) != number(&new) {
                self.reranked.insert(document, number(&new));
            }
        }
        self.index_again(document, &old, &new)?;
        Ok(is_changed)
    }

    /// Stored documents whose number in the field that ranks documents this batch has changed, with that number. They
    /// are to be decided again before it is committed.
    #[must_use]
    pub const fn reranked(&self) -> &BTreeMap<DocId, Option<i64>> {
        &self.reranked
    }

    /// Writes the difference of what is indexed of a document into columns and postings.
    pub(crate) fn index_again(
        &mut self,
        document: DocId,
        old: &IndexedValues,
        new: &IndexedValues,
    ) -> Result<(), StoreError> {
        for (field, keyword) in &old.keywords {
            if !new.keywords.contains(&(*field, keyword.clone())) {
                self.remove_posting(*field, &system_fields::keyword_value(keyword), document)?;
                self.number_or_null(system_fields::column_of(*field), document, None);
            }
        }
        for (field, keyword) in &new.keywords {
            if !old.keywords.contains(&(*field, keyword.clone())) {
                let term =
                    self.add_posting(*field, &system_fields::keyword_value(keyword), document)?;
                self.number_or_null(
                    system_fields::column_of(*field),
                    document,
                    Some(term.0.into()),
                );
            }
        }
        for (field, _) in &old.numbers {
            if !new.numbers.iter().any(|(other, _)| other == field) {
                self.number_or_null(system_fields::column_of(*field), document, None);
            }
        }
        // An earlier release may have stored a number for a value that is not a number by today's rule.
        for misfit @ (field, _) in &old.misfits {
            let has_keyword = new.keywords.iter().any(|(other, _)| other == field);
            if !has_keyword && !new.misfits.contains(misfit) {
                self.number_or_null(system_fields::column_of(*field), document, None);
            }
        }
        for (field, number) in &new.numbers {
            if !old.numbers.contains(&(*field, *number)) {
                self.number_or_null(system_fields::column_of(*field), document, Some(*number));
            }
        }
        Ok(())
    }
}

/// A JSON object with other values under some names, given one after the other; all else as it is spelled, in its
/// order. A new member comes behind all others, or in the order of names among the fields that end the object: where
/// values stand does not tell in which order they were set.
///
/// # Errors
/// [`serde_json::Error`] for what is not an object.
pub fn with_fields(
    object: &str,
    values: &[(&str, &RawValue)],
    declared: &[FieldDeclaration],
) -> Result<String, serde_json::Error> {
    let JsonMembers(mut members) = serde_json::from_str(object)?;
    for (name, value) in values {
        put(&mut members, name, value, declared);
    }
    let mut out = JsonObject::default();
    for (name, raw) in members {
        out.push_raw(&json_string(&name), raw.get());
    }
    Ok(out.finish())
}

/// Gives a member another value.
fn put<'a>(
    members: &mut Vec<(Cow<'a, str>, &'a RawValue)>,
    name: &str,
    value: &'a RawValue,
    declared: &[FieldDeclaration],
) {
    // What a field would be fed from below is hidden by a null, and only by one.
    let is_fed = || declared.iter().any(|field| field.path.as_deref() == Some(name));
    let is_null = value.get() == "null" && !(name.contains('.') && is_fed());
    let place = members.iter().position(|(other, _)| other == name);
    let mut at = 0;
    members.retain(|(other, _)| {
        at += 1;
        other != name || (!is_null && Some(at - 1) == place)
    });
    if !is_null {
        match members.iter_mut().find(|(other, _)| other == name) {
            Some((_, raw)) => *raw = value,
            None => {
                let is_field = |other: &str| declared.iter().any(|field| field.member() == other);
                let fields = members.iter().rev().take_while(|(other, _)| is_field(other)).count();
                let tail = members.len() - fields;
                let before =
                    members.iter().skip(tail).rposition(|(other, _)| other.as_ref() < name);
                let to = before.map_or(tail, |before| tail + before + 1);
                members.insert(
                    if is_field(name) { to } else { members.len() },
                    (Cow::Owned(name.to_owned()), value),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::FieldKind;

    fn field(name: &str, path: Option<&str>) -> FieldDeclaration {
        FieldDeclaration {
            id: FieldId(16),
            name: name.to_owned(),
            kind: FieldKind::Int,
            path: path.map(str::to_owned),
            rule: FieldKind::Int.rule(),
        }
    }

    fn with(object: &str, name: &str, raw: &str, declared: &[FieldDeclaration]) -> String {
        let raw = RawValue::from_string(raw.to_owned()).unwrap();
        with_fields(object, &[(name, &raw)], declared).unwrap()
    }

    #[test]
    fn a_value_is_put_in_its_place_and_all_else_stays_as_spelled() {
        let with = |object: &str, name: &str, raw: &str| with(object, name, raw, &[]);
        assert_eq!(with("{}", "a", "1.50"), r#"{"a":1.50}"#);
        assert_eq!(with(r#"{"b":[1, 2],"a":null}"#, "a", "7"), r#"{"b":[1, 2],"a":7}"#);
        assert_eq!(with(r#"{"a":1,"b":1e3}"#, "a", "null"), r#"{"b":1e3}"#);
        assert_eq!(with(r#"{"a":1}"#, "a", "null"), "{}");
        assert_eq!(with("{}", "a", "null"), "{}");
        assert_eq!(with(r#"{"x\"y":1}"#, "é\n", "\"v\""), r#"{"x\"y":1,"é\n":"v"}"#);
        assert_eq!(with(r#"{"a":1,"a":2}"#, "a", "3"), r#"{"a":3}"#);
    }

    #[test]
    fn new_fields_are_ordered_by_name() {
        let declared = ["a", "b", "c"].map(|name| field(name, None));
        let with = |object: &str, name: &str, raw: &str| with(object, name, raw, &declared);
        assert_eq!(with(&with("{}", "b", "1"), "a", "2"), r#"{"a":2,"b":1}"#);
        assert_eq!(with(&with("{}", "a", "2"), "b", "1"), r#"{"a":2,"b":1}"#);
        assert_eq!(with(r#"{"b":0,"u":1,"c":2}"#, "a", "3"), r#"{"b":0,"u":1,"a":3,"c":2}"#);
        assert_eq!(with(r#"{"b":0,"u":1}"#, "b", "3"), r#"{"b":3,"u":1}"#);
        assert_eq!(with(r#"{"a":0,"c":1}"#, "b", "3"), r#"{"a":0,"b":3,"c":1}"#);
    }

    #[test]
    fn a_null_hides_what_a_field_is_fed_from_below() {
        let declared = [field("f", Some("a.b"))];
        let hidden = with(r#"{"a":{"b":1}}"#, "a.b", "null", &declared);
        assert_eq!(hidden, r#"{"a":{"b":1},"a.b":null}"#);
        assert_eq!(indexed(&hidden, &declared).numbers, []);
        assert_eq!(with(&hidden, "a.b", "7", &declared), r#"{"a":{"b":1},"a.b":7}"#);
    }
}
