//! The table of removed documents beside their witnesses: its columns, read for documents given by id.

use super::pairs::{DuplicatePair, PairReader};
use crate::sql::error::SqlError;
use arrow::array::{ArrayRef, Float64Array, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use model::DocId;
use model::near_names::UnknownName;
use std::sync::Arc;
use store::{View, system_fields};

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
