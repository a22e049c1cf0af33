//! Fields that were added to a corpus: their records, and what stands in the metadata of a range for them.

use super::View;
use crate::model::{DocId, FieldDeclaration, FieldId, KeepOrder};
use crate::store::columns::{Meta, Metadata};
use crate::store::database::Pinned;
use crate::store::error::{Malformed, StoreError};
use crate::store::rows::indexed::{Found, found, indexed};
use crate::store::rows::keys::{DocumentKey, Key};
use crate::store::rows::meta::MetaKey;
use crate::store::rows::records::{FieldRecord, FieldState};
use std::borrow::Cow;
use std::ops::Range;

pub(super) fn records(pinned: &Pinned) -> Result<Vec<(FieldId, FieldRecord)>, StoreError> {
    let mut rows = pinned.scan_prefix::<Meta>(MetaKey::fields())?;
    let mut found = Vec::new();
    while let Some((_, field)) = rows.next_with("field", |row| row.field())? {
        found.push(field);
    }
    Ok(found)
}

impl View {
    /// Fields that were added while the corpus held documents, those that are not declared yet or any more included;
    /// ascending by id.
    #[must_use]
    pub fn added_fields(&self) -> &[(FieldId, FieldRecord)] {
        &self.moment.added
    }

    /// The record of a field that was added; none of one that the corpus was made with.
    pub(crate) fn added_field(&self, field: FieldId) -> Option<&FieldRecord> {
        self.added_fields().iter().find(|(id, _)| *id == field).map(|(_, record)| record)
    }

    /// The declared field of that name.
    pub(crate) fn field_named(&self, name: &str) -> Option<&FieldDeclaration> {
        self.fields().iter().find(|field| field.name == name)
    }

    /// The field whose numbers rank documents, where the keep order goes by one.
    pub(crate) fn order_field(&self) -> Option<FieldId> {
        match &self.policy().keep {
            KeepOrder::Field(name) => self.field_named(name).map(|field| field.id),
            _ => None,
        }
    }

    /// The field of that name that is being filled, and is not declared before it is.
    pub(crate) fn filling_field(&self, name: &str) -> Option<&(FieldId, FieldRecord)> {
        self.filling_fields().find(|(_, record)| record.name == name)
    }

    /// Fields that are being filled.
    pub(crate) fn filling_fields(&self) -> impl Iterator<Item = &(FieldId, FieldRecord)> {
        self.added_fields().iter().filter(|(_, record)| record.state == FieldState::Filling)
    }

    /// Declared fields whose values every document that comes is given, each with the expression that has them.
    pub(crate) fn fed_fields(&self) -> impl Iterator<Item = (&FieldDeclaration, &str)> {
        self.fields().iter().filter_map(|field| {
            let record = self.added_field(field.id)?;
            let expression = record.expression.as_deref()?;
            (record.state == FieldState::Fed).then_some((field, expression))
        })
    }

    /// The expression whose value every document that comes is given in a declared field, where there is one.
    pub(crate) fn fed_by(&self, name: &str) -> Option<&str> {
        let mut fed = self.fed_fields();
        fed.find_map(|(field, expression)| (field.name == name).then_some(expression))
    }

    /// The names of the declared fields, as messages list them.
    pub(crate) fn field_names(&self) -> String {
        let names: Vec<&str> = self.fields().iter().map(|field| field.name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }

    /// Declared fields, and those that are being filled: what a change of metadata must keep right.
    ///
    /// # Errors
    /// [`StoreError`] for a record that no release wrote.
    pub(in crate::store) fn indexed_fields(
        &self,
    ) -> Result<Cow<'_, [FieldDeclaration]>, StoreError> {
        // Asked for with every document that changes, and nearly always none is being filled.
        let mut fields = Cow::Borrowed(self.fields());
        for (id, record) in self.filling_fields() {
            fields.to_mut().push(declaration(*id, record)?);
        }
        Ok(fields)
    }

    /// What each document of a range that has metadata has for a field, ascending, in one scan.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; what comes last may be the error of a row.
    pub(in crate::store) fn found_in(
        &self,
        field: &FieldDeclaration,
        range: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<(DocId, Found), StoreError>>, StoreError> {
        let end = DocumentKey { document: DocId(range.end) }.to_bytes();
        let start = DocumentKey { document: DocId(range.start) }.to_bytes();
        let rows = self.pinned().scan::<Metadata>(&start, Some(end))?;
        Ok(rows.taken("metadata", move |key, text| Ok(Some((key.document, found(text, field))))))
    }
}

/// A document with those of its fields whose values are of another type, and the beginnings of these.
pub(crate) type DocumentMisfits = (DocId, Vec<(FieldId, String)>);

impl View {
    /// Values of a range that the types of their fields cannot hold, in one scan: ascending documents that have some,
    /// each with their fields and their beginnings, as JSON spells them.
    ///
    /// # Errors
    /// As [`View::found_in`].
    pub(crate) fn misfits_in(
        &self,
        fields: &[FieldDeclaration],
        range: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<DocumentMisfits, StoreError>>, StoreError> {
        let end = DocumentKey { document: DocId(range.end) }.to_bytes();
        let start = DocumentKey { document: DocId(range.start) }.to_bytes();
        let rows = self.pinned().scan::<Metadata>(&start, Some(end))?;
        let found = rows.taken("metadata", move |key, text| {
            Ok(Some((key.document, indexed(text, fields).misfits)))
        });
        let has_some = |row: &Result<DocumentMisfits, StoreError>| {
            row.as_ref().map_or(true, |(_, misfits)| !misfits.is_empty())
        };
        Ok(found.filter(has_some))
    }
}

/// The field of a record as it is or will be declared.
///
/// # Errors
/// [`StoreError`] for a kind that no release wrote.
pub fn declaration(id: FieldId, record: &FieldRecord) -> Result<FieldDeclaration, StoreError> {
    let damaged = |why: Malformed| {
        crate::store::columns::corrupt::<Meta>("field", &MetaKey::Field(id).to_bytes(), why)
    };
    record.declaration(id).map_err(damaged)
}
