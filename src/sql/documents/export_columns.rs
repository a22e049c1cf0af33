//! Reads tables of documents given by id: columns of `documents`, or pairs of duplicates.

use super::by_id::DocumentBatchReader;
use super::pair_columns::PairBatchReader;
use crate::sql::error::SqlError;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use model::DocId;
use store::View;

/// A table that is read one range of ids at a time, by any number of threads.
pub struct ExportColumns(Told);

enum Told {
    Document(DocumentBatchReader),
    /// A removed document beside its witness.
    Pair(PairBatchReader),
}

impl ExportColumns {
    /// The columns of `documents` with these names, in their order.
    ///
    /// # Errors
    /// [`SqlError::NoDocumentColumn`].
    pub fn of_documents(view: &View, names: &[String]) -> Result<Self, SqlError> {
        Ok(Self(Told::Document(DocumentBatchReader::named(view, names)?)))
    }

    /// Removed documents beside their witnesses: some columns of the pairs that `corpusdb duplicates --list` lists,
    /// and the commit that brought the removed document; all of them without names.
    ///
    /// # Errors
    /// [`SqlError::NoDocumentColumn`].
    pub fn of_pairs(names: Option<&[String]>) -> Result<Self, SqlError> {
        Ok(Self(Told::Pair(PairBatchReader::named(names)?)))
    }

    /// Names and types of the columns as files have them.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        match &self.0 {
            Told::Document(rows) => rows.schema(),
            Told::Pair(columns) => columns.schema(),
        }
    }

    /// The rows of `documents`, which are ascending and of one block, and the document of each row: a removed document
    /// without a witness has none. Texts may be views, which files do not have.
    ///
    /// # Errors
    /// [`SqlError`] when a row of the store cannot be read.
    pub fn read(
        &self,
        view: &View,
        documents: Vec<DocId>,
    ) -> Result<(RecordBatch, Vec<DocId>), SqlError> {
        match &self.0 {
            Told::Document(rows) => Ok((rows.read(view, &documents)?, documents)),
            Told::Pair(columns) => columns.read(view, &documents),
        }
    }
}
