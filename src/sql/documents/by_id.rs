//! Reads columns of `documents` for given ids, without the engine.

use super::columns::ColumnReader;
use super::filter::StoredBlock;
use super::schema::{ColumnSource, DocumentColumn, DocumentColumns, declared_source};
use crate::sql::error::SqlError;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use model::{DocId, FieldDeclaration, FieldId};
use std::sync::Arc;
use store::View;

/// Some columns of `documents`.
pub struct DocumentBatchReader {
    wanted: Arc<[DocumentColumn]>,
    /// Types of the columns as they are read.
    read: SchemaRef,
}

impl DocumentBatchReader {
    /// The columns with these names, in their order.
    ///
    /// # Errors
    /// [`SqlError::NoDocumentColumn`].
    pub fn named(view: &View, names: &[String]) -> Result<Self, SqlError> {
        let known = DocumentColumns::of(view);
        let column = |name: &String| {
            let found = known.columns.iter().position(|column| column.name == *name);
            found.ok_or_else(|| SqlError::NoDocumentColumn(known.unknown(name)))
        };
        let places: Vec<usize> = names.iter().map(column).collect::<Result<_, _>>()?;
        let read = Arc::new(known.schema.project(&places).map_err(SqlError::arrow)?);
        let wanted = places.iter().filter_map(|at| known.columns.get(*at).cloned()).collect();
        Ok(Self { wanted, read })
    }

    /// Names and types of the columns as files have them: views of texts are known to few readers.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        let in_files = |field: &Arc<Field>| match field.data_type() {
            DataType::Utf8View => {
                Field::new(field.name(), DataType::LargeUtf8, field.is_nullable())
            }
            _ => field.as_ref().clone(),
        };
        Arc::new(Schema::new(self.read.fields().iter().map(in_files).collect::<Vec<_>>()))
    }

    /// The rows of `documents`, which must be ascending and of one block; texts as views.
    ///
    /// # Errors
    /// [`SqlError`] when a row of the store cannot be read.
    pub fn read(&self, view: &View, documents: &[DocId]) -> Result<RecordBatch, SqlError> {
        let Some(first) = documents.first() else {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.read)));
        };
        let read = Arc::clone(&self.read);
        let mut reader = ColumnReader::new(view, &self.wanted, read, documents.len())?;
        let open = reader.open(StoredBlock::new(view, first.block()))?;
        let slots: Vec<u16> = documents.iter().map(|document| document.slot()).collect();
        reader.batch(&open, &slots)
    }
}

/// The field in whose terms `documents` has the values of a column: `language` or a declared keyword.
#[must_use]
pub fn keyword_field(view: &View, name: &str) -> Option<FieldId> {
    match DocumentColumns::of(view).named(name)?.source {
        ColumnSource::Keyword(field) => Some(field),
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

/// Whether a column follows the decisions in force, and so may change after a document came.
#[must_use]
pub fn is_of_standing(view: &View, name: &str) -> bool {
    DocumentColumns::of(view).named(name).is_some_and(|column| column.source.is_of_standing())
}
