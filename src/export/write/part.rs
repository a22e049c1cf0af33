//! A piece that is ready to be written, and several as one table.

use crate::export::error::ExportError;
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;

/// A piece that is ready to be written.
pub(in crate::export) struct Part {
    pub rows: Rows,
    /// How many rows.
    pub count: u64,
    /// Bytes in memory that count towards a group.
    pub weight: u64,
    /// The document behind the last one of the piece, by its id.
    pub next: u64,
}

/// Rows of a part.
pub(in crate::export) enum Rows {
    Lines(Vec<u8>),
    Table(RecordBatch),
}

/// The rows of parts as one.
pub(super) fn table(schema: &SchemaRef, parts: Vec<Part>) -> Result<RecordBatch, ExportError> {
    let mut batches = Vec::with_capacity(parts.len());
    for part in parts {
        let Rows::Table(batch) = part.rows else {
            return Err(ExportError::Bug("lines in a table".to_owned()));
        };
        batches.push(batch);
    }
    concat_batches(schema, &batches).map_err(|error| ExportError::Bug(error.to_string()))
}
