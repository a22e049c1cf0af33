//! Columns of documents, or of pairs of them, that are given by id.

use super::columns::ColumnReader;
use super::filter::StoredBlock;
use super::pairs::{DuplicatePair, PairReader};
use super::schema::{ColumnSource, DocumentColumn, DocumentColumns, declared_source};
use crate::sql::error::SqlError;
use arrow::array::{ArrayRef, Float64Array, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use model::near_names::UnknownName;
use model::{DocId, FieldDeclaration, FieldId};
use std::sync::Arc;
use store::{View, system_fields};

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

/// Every column with its type.
const COLUMNS: [(&str, DataType); 12] = [
    ("id", DataType::UInt64),
    ("key", DataType::Utf8),
    ("source", DataType::Utf8),
    ("witness", DataType::UInt64),
    ("witness_key", DataType::Utf8),
    ("witness_source", DataType::Utf8),
    ("kind", DataType::Utf8),
    ("jaccard", DataType::Float64),
    ("containment_removed", DataType::Float64),
    ("containment_witness", DataType::Float64),
    ("cluster", DataType::UInt64),
    ("commit", DataType::UInt64),
];

/// The chosen columns.
pub(crate) struct PairBatchReader(Vec<&'static str>);

impl PairBatchReader {
    /// The columns of these names; without names all.
    pub(crate) fn named(names: Option<&[String]>) -> Result<Self, SqlError> {
        let all = || COLUMNS.iter().map(|(name, _)| *name);
        let Some(names) = names else { return Ok(Self(all().collect())) };
        let known = |name: &String| {
            let found = all().find(|known| known == name);
            found.ok_or_else(|| SqlError::Unknown(UnknownName::new("column", name, all())))
        };
        Ok(Self(names.iter().map(known).collect::<Result<_, _>>()?))
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        let field = |name: &&'static str| {
            let kind = COLUMNS.iter().find(|(known, _)| known == name);
            Field::new(*name, kind.map_or(DataType::Null, |(_, kind)| kind.clone()), false)
        };
        Arc::new(Schema::new(self.0.iter().map(field).collect::<Vec<_>>()))
    }

    /// The pairs of `documents` that have a witness, and the ids of these documents.
    pub(crate) fn read(
        &self,
        view: &View,
        documents: &[DocId],
    ) -> Result<(RecordBatch, Vec<DocId>), SqlError> {
        let mut shown = PairReader::new(view);
        let mut pairs = Vec::with_capacity(documents.len());
        let mut commits = Vec::with_capacity(documents.len());
        let block = documents
            .first()
            .map(|first| view.column_block(system_fields::COMMIT_OF, first.block()));
        let block = block.transpose()?.unwrap_or_default();
        for document in documents {
            let found = view.match_of(*document)?;
            let pair = found.map(|found| shown.pair(*document, &found)).transpose()?.flatten();
            if let Some(pair) = pair {
                pairs.push(pair);
                commits.push(block.expect(system_fields::COMMIT_OF, *document)?);
            }
        }
        let columns = self.0.iter().map(|name| column(name, &pairs, &commits)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(pairs.len()));
        let documents = pairs.iter().map(|pair| DocId(pair.id)).collect();
        let rows = RecordBatch::try_new_with_options(self.schema(), columns, &options);
        Ok((rows.map_err(SqlError::arrow)?, documents))
    }
}

fn column(name: &str, pairs: &[DuplicatePair], commits: &[u64]) -> ArrayRef {
    let numbers = |of: fn(&DuplicatePair) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(pairs.iter().map(of)))
    };
    let texts = |of: fn(&DuplicatePair) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(pairs.iter().map(of)))
    };
    let shares = |of: fn(&DuplicatePair) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(pairs.iter().map(of)))
    };
    match name {
        "id" => numbers(|pair| pair.id),
        "key" => texts(|pair| &pair.key),
        "source" => texts(|pair| &pair.source),
        // The witness names the cluster.
        "witness" | "cluster" => numbers(|pair| pair.witness),
        "witness_key" => texts(|pair| &pair.witness_key),
        "witness_source" => texts(|pair| &pair.witness_source),
        "kind" => texts(|pair| pair.kind),
        "jaccard" => shares(|pair| pair.jaccard),
        "containment_removed" => shares(|pair| pair.containment_removed),
        "containment_witness" => shares(|pair| pair.containment_witness),
        _ => Arc::new(UInt64Array::from_iter_values(commits.iter().copied())),
    }
}
