//! Writes batches of an epoch as a stream of bytes: JSON lines, or the Arrow stream format.

use super::columns::token_batch;
use super::spec::RowContext;
use super::unpadded;
use super::unpadded::{ALIGNED, Unpadded};
use crate::epoch::error::EpochError;
use crate::epoch::plan::masks;
use crate::epoch::recipe::{Format, OutputRecipe, PadSide, RowColumn};
use crate::epoch::stream::{Epoch, EpochBatch, EpochRow};
use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow_ipc::writer::StreamWriter;
use files::output::{
    BatchColumn, IdType, StreamRowNumber, jsonl_columns, put_row, signed_columns, signed_fields,
    table_columns,
};
use model::{Error, ErrorKind};
use std::io::{self, Write};
use std::sync::Arc;

/// A format of batches in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum StreamFormat {
    /// The Arrow IPC stream format, a record batch for each global batch
    ///
    /// The columns of Parquet shards and before them `row` and `batch`. A batch without rows is a record batch without
    /// rows.
    Arrow,
    /// One row a line
    ///
    /// `row`, `batch`, and the keys of `jsonl` shards. A batch without rows is a line whose `row` is null and whose
    /// lists are empty.
    Jsonl,
}

/// What batches in a stream are written with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct StreamViews {
    /// Columns of rows besides ids and segments. By default output.columns of the recipe, or those of the format.
    ///
    /// A choice that loses the loss masks or weights of documents is refused, unless the recipe has output.ignore_loss.
    #[cfg_attr(
        feature = "cli",
        arg(id = "views", long = "views", value_name = "VIEWS", value_delimiter = ',', value_enum)
    )]
    pub columns: Option<Vec<RowColumn>>,
    /// Write each batch as one record or line without pads: its ids end to end, indices, cu_seqlens, max_seqlen, and
    /// the `views`.
    ///
    /// Only views that are aligned with the ids are possible.
    #[cfg_attr(feature = "cli", arg(id = "unpad", long = "unpad"))]
    pub unpadded: bool,
}

/// Makes record batches of the batches of an epoch, as the Arrow stream format has them.
pub struct BatchTable {
    context: RowContext,
    /// The columns of rows besides their numbers, in the order of the format.
    columns: Vec<BatchColumn>,
    /// The side of pads, where they are taken out.
    unpadded: Option<PadSide>,
    schema: SchemaRef,
}

/// Writes batches.
pub struct BatchPrinter<W: Write> {
    table: BatchTable,
    out: Out<W>,
}

enum Out<W: Write> {
    Arrow(Box<StreamWriter<W>>),
    Lines(W),
}

impl Epoch {
    /// Writes batches of it to `out`.
    ///
    /// # Errors
    /// As [`Epoch::stream_writer_with`].
    pub fn stream_writer<W: Write>(
        &self,
        format: StreamFormat,
        out: W,
    ) -> Result<BatchPrinter<W>, EpochError> {
        self.stream_writer_with(format, &StreamViews::default(), out)
    }

    /// Writes batches of it to `out` with the views asked for.
    ///
    /// # Errors
    /// [`EpochError`] for a column that batches without pads do not have; [`EpochError::Limit`] for views that
    /// lose what documents say is trained on, as a build with such columns; [`EpochError::Store`];
    /// [`EpochError::Output`].
    pub fn stream_writer_with<W: Write>(
        &self,
        format: StreamFormat,
        views: &StreamViews,
        out: W,
    ) -> Result<BatchPrinter<W>, EpochError> {
        let table = self.table_as(format, views)?;
        let out = match format {
            StreamFormat::Jsonl => Out::Lines(out),
            StreamFormat::Arrow => {
                let writer = StreamWriter::try_new(out, &table.schema).map_err(failed)?;
                Out::Arrow(Box::new(writer))
            }
        };
        Ok(BatchPrinter { table, out })
    }

    /// Makes record batches of its batches with the views asked for.
    ///
    /// # Errors
    /// As [`Epoch::stream_writer_with`].
    pub fn table(&self, views: &StreamViews) -> Result<BatchTable, EpochError> {
        self.table_as(StreamFormat::Arrow, views)
    }

    fn table_as(
        &self,
        format: StreamFormat,
        views: &StreamViews,
    ) -> Result<BatchTable, EpochError> {
        let opened = self.opened();
        let (masked, padded) = (opened.masked(), opened.plan.pads_batches());
        let recipe = &opened.plan.recipe;
        let output = OutputRecipe {
            // What is streamed is not the output: no limit of its format holds here.
            format: match format {
                StreamFormat::Arrow => Format::Arrow,
                StreamFormat::Jsonl => Format::Jsonl,
            },
            columns: views.columns.clone().or_else(|| recipe.output.columns.clone()),
            ..recipe.output.clone()
        };
        let mut columns = output.columns(masked, padded);
        columns.dedup();
        if views.unpadded {
            let asked = views.columns.as_ref().and_then(|asked| {
                // Boundaries are always there.
                let known = |column: &RowColumn| {
                    ALIGNED.contains(column)
                        || matches!(column, RowColumn::CuSeqlens | RowColumn::MaxSeqlen)
                };
                asked.iter().find(|column| !known(column))
            });
            if let Some(column) = asked {
                let message = format!(
                    "{} needs rows with pads; batches without pads can have labels, loss_mask, loss_weights, position_ids, segment_ids and seq_idx",
                    column.name()
                );
                return Err(Error::of(ErrorKind::BadRecipe, message).into());
            }
            if views.columns.is_none() {
                columns = vec![RowColumn::Labels, RowColumn::PositionIds];
                columns.extend(masked.then_some(RowColumn::LossWeights));
                columns.sort_unstable();
            }
            columns.retain(|column| ALIGNED.contains(column));
        }
        if masked {
            let given = OutputRecipe { columns: Some(columns.clone()), ..output };
            let documents = || opened.documents();
            masks::check_views(&opened.corpora, opened.tokenizer, &given, documents)?;
        }
        let mut context = RowContext::of(opened, 0);
        context.spec.columns = columns;
        // What is streamed has ids as i32, whatever the files of the recipe have.
        context.spec.id_type = IdType::I32;
        let columns = match format {
            StreamFormat::Arrow => table_columns(&context.spec),
            StreamFormat::Jsonl => jsonl_columns(&context.spec),
        };
        let side = recipe.pack.options.pad_side;
        Ok(BatchTable::new(context, columns, views.unpadded.then_some(side)))
    }
}

impl BatchTable {
    fn new(context: RowContext, columns: Vec<BatchColumn>, unpadded: Option<PadSide>) -> Self {
        let numbers = ["row", "batch"].map(|name| Field::new(name, DataType::UInt64, false));
        let all: Vec<Field> = match unpadded {
            Some(_) => unpadded::fields(&context.spec.columns),
            None => numbers.into_iter().chain(signed_fields(&columns)).collect(),
        };
        Self { context, columns, unpadded, schema: Arc::new(Schema::new(all)) }
    }

    /// The columns.
    #[must_use]
    pub const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// A record for each row of a batch, or one for all of them without their pads.
    ///
    /// # Errors
    /// [`EpochError`] for an id that the type does not hold; [`EpochError::Output`] when Arrow refuses the columns.
    pub fn record_batch(&self, batch: &EpochBatch) -> Result<RecordBatch, EpochError> {
        let arrays = match self.unpadded {
            Some(side) => Unpadded::of(batch, side, &self.context)?.arrays(),
            None => self.arrays(batch)?,
        };
        RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(failed)
    }

    /// A record a row.
    fn arrays(&self, batch: &EpochBatch) -> Result<Vec<ArrayRef>, EpochError> {
        let rows: Vec<&EpochRow> = batch.rows.iter().collect();
        let numbers = batch.rows.iter().map(EpochRow::number);
        let mut all: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from_iter_values(numbers)),
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|_| batch.number))),
        ];
        all.extend(signed_columns(&token_batch(&rows, &self.columns, 0, &self.context)?));
        Ok(all)
    }

    /// Appends a line a row; one of none where the batch has no row.
    fn put_lines(&self, batch: &EpochBatch, out: &mut Vec<u8>) -> Result<(), EpochError> {
        let nothing = EpochRow::none();
        let (rows, numbers): (Vec<&EpochRow>, Vec<Option<u64>>) = match batch.rows.is_empty() {
            true => (vec![&nothing], vec![None]),
            false => batch.rows.iter().map(|row| (row, Some(row.number()))).unzip(),
        };
        let lines = token_batch(&rows, &self.columns, 0, &self.context)?;
        for (line, row) in lines.rows().zip(numbers) {
            let number = StreamRowNumber { row, batch: batch.number };
            put_row(&self.columns, line, Some(&number), out)?;
        }
        Ok(())
    }
}

impl<W: Write> BatchPrinter<W> {
    /// Writes a batch.
    ///
    /// # Errors
    /// [`EpochError::Output`] when it cannot be written.
    pub fn write(&mut self, batch: &EpochBatch) -> Result<(), EpochError> {
        let table = &self.table;
        match &mut self.out {
            Out::Lines(out) => {
                let mut bytes = Vec::new();
                match table.unpadded {
                    Some(side) => Unpadded::of(batch, side, &table.context)?.put(&mut bytes)?,
                    None => table.put_lines(batch, &mut bytes)?,
                }
                out.write_all(&bytes).map_err(EpochError::Output)
            }
            Out::Arrow(writer) => writer.write(&table.record_batch(batch)?).map_err(failed),
        }
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// [`EpochError::Output`] when it cannot be written.
    pub fn finish(self) -> Result<(), EpochError> {
        let mut out = match self.out {
            Out::Lines(out) => out,
            Out::Arrow(writer) => writer.into_inner().map_err(failed)?,
        };
        out.flush().map_err(EpochError::Output)
    }
}

fn failed(error: ArrowError) -> EpochError {
    EpochError::Output(match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    })
}
