//! Pieces as they are written: lines of text, or rows of a table.

use super::part::{Part, Rows};
use super::{csv, jsonl};
use crate::export::error::ExportError;
use crate::export::layout::{Layout, META, SPREAD};
use crate::export::options::ExportFormat;
use crate::model::DocId;
use ::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use ::arrow::datatypes::SchemaRef;

/// Makes parts of pieces. Knows nothing of files, so that any thread may.
pub(in crate::export) struct Encoder {
    format: ExportFormat,
    separator: String,
    /// The place of the column whose fields stand at top level.
    spread: Option<usize>,
    /// The place of the column that is a JSON object already.
    object: Option<usize>,
    /// What to ask for instead of fields at top level, where these collide with columns.
    instead: String,
}

impl Encoder {
    pub fn new(layout: &Layout) -> Self {
        let columns = layout.columns.as_deref().unwrap_or_default();
        let place = |name: &str| columns.iter().position(|column| column == name);
        let others = columns.iter().map(|name| if name == SPREAD { META } else { name });
        Self {
            format: layout.format,
            separator: layout.separator.clone(),
            spread: place(SPREAD),
            object: place(META),
            instead: others.collect::<Vec<_>>().join(","),
        }
    }

    /// What a file begins with.
    pub fn header(&self, schema: &SchemaRef) -> Vec<u8> {
        match self.format {
            ExportFormat::Csv => csv::header(schema),
            _ => Vec::new(),
        }
    }

    /// The rows of `documents`; `next` is the id behind them.
    pub fn part(
        &self,
        batch: RecordBatch,
        documents: &[DocId],
        next: u64,
    ) -> Result<Part, ExportError> {
        let count = batch.num_rows() as u64;
        let mut lines = Vec::new();
        match self.format {
            ExportFormat::Parquet | ExportFormat::Arrow => {
                // Of the rows, not of what was rejected for them, which may differ.
                let bytes =
                    |column: &ArrayRef| column.to_data().get_slice_memory_size().unwrap_or(0);
                let weight = batch.columns().iter().map(|column| bytes(column) as u64).sum();
                return Ok(Part { rows: Rows::Table(batch), count, weight, next });
            }
            ExportFormat::Csv => csv::rows(&batch, &mut lines)?,
            ExportFormat::Jsonl => {
                let columns = jsonl::Columns {
                    spread: self.spread,
                    object: self.object,
                    instead: &self.instead,
                };
                columns.rows(&batch, documents, &mut lines)?;
            }
            ExportFormat::Text => {
                let texts = batch.columns().first().and_then(|texts| texts.as_string_opt::<i64>());
                for text in texts.iter().flat_map(|texts| texts.iter()) {
                    lines.extend_from_slice(text.unwrap_or_default().as_bytes());
                    lines.extend_from_slice(self.separator.as_bytes());
                }
            }
        }
        let weight = lines.len() as u64;
        Ok(Part { rows: Rows::Lines(lines), count, weight, next })
    }
}
