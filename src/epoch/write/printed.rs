//! Batches of an epoch as a stream of bytes: JSON lines, or the Arrow stream format.

use super::parquet::{columns, fields};
use super::{Options, jsonl, options};
use crate::epoch::error::EpochError;
use crate::epoch::ids::Row;
use crate::epoch::reader::{Epoch, EpochBatch, EpochRow};
use ::arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use ::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_ipc::writer::StreamWriter;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// A format of batches in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFormat {
    /// The Arrow IPC stream format: a record batch for each global batch, the columns of Parquet shards and
    /// before them `row` and `batch`.
    Arrow,
    /// A row a line: `row`, `batch`, and the keys of `jsonl` shards.
    Jsonl,
}

/// Writes batches.
pub struct BatchPrinter<W: Write> {
    options: Options,
    out: Out<W>,
}

enum Out<W: Write> {
    Arrow(Box<StreamWriter<W>>, SchemaRef),
    Lines(W),
}

impl Epoch {
    /// Writes batches of it to `out`.
    ///
    /// # Errors
    /// [`EpochError::Output`] when it cannot be written.
    pub fn printer<W: Write>(
        &self,
        format: StreamFormat,
        out: W,
    ) -> Result<BatchPrinter<W>, EpochError> {
        BatchPrinter::new(options(self.plan(), Path::new("")), format, out)
    }
}

impl<W: Write> BatchPrinter<W> {
    fn new(options: Options, format: StreamFormat, out: W) -> Result<Self, EpochError> {
        let out = match format {
            StreamFormat::Jsonl => Out::Lines(out),
            StreamFormat::Arrow => {
                let numbers =
                    ["row", "batch"].map(|name| Field::new(name, DataType::UInt64, false));
                let all: Vec<Field> = numbers.into_iter().chain(fields()).collect();
                let schema = Arc::new(Schema::new(all));
                let writer = StreamWriter::try_new(out, &schema).map_err(failed)?;
                Out::Arrow(Box::new(writer), schema)
            }
        };
        Ok(Self { options, out })
    }

    /// Writes a batch.
    ///
    /// # Errors
    /// [`EpochError::Output`] when it cannot be written.
    pub fn write(&mut self, batch: &EpochBatch) -> Result<(), EpochError> {
        match &mut self.out {
            Out::Lines(out) => {
                let mut bytes = Vec::new();
                for row in &batch.rows {
                    jsonl::numbered_line(
                        &self.options,
                        row.number(),
                        batch.number,
                        row.inner(),
                        &mut bytes,
                    )?;
                }
                out.write_all(&bytes).map_err(EpochError::Output)
            }
            Out::Arrow(writer, schema) => {
                let rows: Vec<&Row> = batch.rows.iter().map(EpochRow::inner).collect();
                let numbers = batch.rows.iter().map(EpochRow::number);
                let mut all: Vec<ArrayRef> = vec![
                    Arc::new(UInt64Array::from_iter_values(numbers)),
                    Arc::new(UInt64Array::from_iter_values(rows.iter().map(|_| batch.number))),
                ];
                all.extend(columns(&rows, &self.options)?);
                let batch = RecordBatch::try_new(Arc::clone(schema), all).map_err(failed)?;
                writer.write(&batch).map_err(failed)
            }
        }
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// [`EpochError::Output`] when it cannot be written.
    pub fn finish(self) -> Result<(), EpochError> {
        let mut out = match self.out {
            Out::Lines(out) => out,
            Out::Arrow(writer, _) => writer.into_inner().map_err(failed)?,
        };
        out.flush().map_err(EpochError::Output)
    }
}

fn failed(error: ::arrow::error::ArrowError) -> EpochError {
    EpochError::Output(match error {
        ::arrow::error::ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    })
}
