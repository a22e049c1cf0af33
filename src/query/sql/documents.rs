//! Columns of `documents` read for documents that are given by their ids, without the engine.

use super::columns::Filler;
use super::evaluate::StoredBlock;
use super::schema::{Content, DocumentColumn, DocumentColumns, declared_source};
use crate::model::{DocId, FieldDeclaration, FieldId};
use crate::query::error::QueryError;
use crate::store::View;
use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// Some columns of `documents`.
pub struct DocumentRows {
    wanted: Arc<[DocumentColumn]>,
    /// Their types as they are read, and as they are given.
    read: SchemaRef,
    given: SchemaRef,
}

impl DocumentRows {
    /// The columns with these names, in their order.
    ///
    /// # Errors
    /// [`QueryError::NoDocumentColumn`].
    pub fn named(view: &View, names: &[String]) -> Result<Self, QueryError> {
        let known = DocumentColumns::of(view);
        let column = |name: &String| {
            let found = known.columns.iter().position(|column| column.name == *name);
            found.ok_or_else(|| QueryError::NoDocumentColumn(known.unknown(name)))
        };
        let places: Vec<usize> = names.iter().map(column).collect::<Result<_, _>>()?;
        let read = Arc::new(known.schema.project(&places).map_err(QueryError::arrow)?);
        let wanted = places.iter().filter_map(|at| known.columns.get(*at).cloned()).collect();
        let fields: Vec<Field> = read.fields().iter().map(|field| given(field)).collect();
        Ok(Self { wanted, read, given: Arc::new(Schema::new(fields)) })
    }

    /// Names and types of the columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.given)
    }

    /// The rows of `documents`, which are ascending and of one block.
    ///
    /// # Errors
    /// [`QueryError`] when a row of the store cannot be read.
    pub fn read(&self, view: &View, documents: &[DocId]) -> Result<RecordBatch, QueryError> {
        let Some(first) = documents.first() else {
            return Ok(RecordBatch::new_empty(self.schema()));
        };
        let read = Arc::clone(&self.read);
        let mut filler = Filler::new(view, &self.wanted, read, documents.len())?;
        let open = filler.open(StoredBlock::new(view, first.block()))?;
        let slots: Vec<u16> = documents.iter().map(|document| document.slot()).collect();
        let batch = filler.batch(&open, &slots)?;
        let columns = batch.columns().iter().zip(self.given.fields());
        let columns: Vec<ArrayRef> = columns
            .map(|(column, field)| cast(column, field.data_type()))
            .collect::<Result<_, _>>()
            .map_err(QueryError::arrow)?;
        RecordBatch::try_new(self.schema(), columns).map_err(QueryError::arrow)
    }
}

/// A column as files have it: views of strings are known to few readers.
fn given(field: &Field) -> Field {
    match field.data_type() {
        DataType::Utf8View => Field::new(field.name(), DataType::LargeUtf8, field.is_nullable()),
        _ => field.clone(),
    }
}

/// The column by which `documents` have the values of a field in the term dictionary, with its number: `language`
/// or a declared keyword.
#[must_use]
pub fn keyword_field(view: &View, name: &str) -> Option<FieldId> {
    match DocumentColumns::of(view).named(name)?.source {
        Content::Keyword(field) => Some(field),
        _ => None,
    }
}

/// The columns of declared fields: those whose names are not taken by a column that every corpus has.
#[must_use]
pub fn declared_columns(view: &View) -> Vec<String> {
    let known = DocumentColumns::of(view);
    let is_declared = |field: &&FieldDeclaration| {
        known.named(&field.name).is_some_and(|column| column.source == declared_source(field))
    };
    view.fields().iter().filter(is_declared).map(|field| field.name.clone()).collect()
}

/// Whether a column of that name follows the decisions in force, and so may change after a document came.
#[must_use]
pub fn is_of_standing(view: &View, name: &str) -> bool {
    DocumentColumns::of(view).named(name).is_some_and(|column| column.source.is_of_standing())
}
