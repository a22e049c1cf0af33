//! Reads Parquet files as batches of the engine: the wanted columns of the row groups that a condition may be true in.

use super::columns::{converted, table_type};
use super::files::DataFile;
use crate::sql::documents::scan::BatchSink;
use crate::sql::error::SqlError;
use arrow::array::{ArrayRef, UInt64Array, new_null_array};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::Session;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::conjunction;
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use files::input::{ParquetDecoding, ParquetFooter, as_type, is_row_number};
use model::catch_panic;
use model::invariant::{self, part};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use std::fs::File;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// The footer of a file.
#[derive(Debug)]
pub(super) struct ParquetFile {
    fields: Vec<FieldRef>,
    /// How the columns are decoded.
    decoding: ParquetDecoding,
    /// Rows of each row group.
    pub(super) groups: Vec<u64>,
    /// Bytes of all rows, uncompressed.
    pub(super) bytes: u64,
}

impl ParquetFile {
    /// The columns as a table has them.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&str, DataType)> {
        self.fields.iter().map(|field| (field.name().as_str(), table_type(field.data_type())))
    }

    pub(super) fn rows(&self) -> u64 {
        self.groups.iter().sum()
    }
}

struct OpenParquet {
    file: File,
    footer: ParquetFooter,
}

impl OpenParquet {
    /// `known` is the decoding, where the footer was read before.
    fn open(file: &DataFile, known: Option<&ParquetDecoding>) -> Result<Self, SqlError> {
        let failed = |error: std::io::Error| file.fault(&error.to_string());
        let opened = File::open(file.input.path.as_path()).map_err(failed)?;
        let fault = |why: String| file.fault(&format!("no Parquet: {why}"));
        let footer = decoded(|| ParquetFooter::load(&opened)).map_err(fault)?;
        if let Some(known) = known {
            return Ok(Self { file: opened, footer: footer.with_decoding(known) });
        }
        // Texts and bytes are used in the buffers that they were decoded into.
        let field = |field: &FieldRef| match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 => with_type(field, DataType::Utf8View),
            DataType::Binary | DataType::LargeBinary => with_type(field, DataType::BinaryView),
            _ => Arc::clone(field),
        };
        let schema = footer.metadata().schema();
        let fields: Vec<FieldRef> = schema.fields().iter().map(field).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        let columns = 0..schema.fields().len();
        let copy = opened.try_clone().map_err(failed)?;
        let fitted = || Ok(footer.with_schema(schema).with_fitting_moments(copy, columns));
        Ok(Self { file: opened, footer: decoded(fitted).map_err(fault)? })
    }
}

fn with_type(field: &FieldRef, kind: DataType) -> FieldRef {
    Arc::new(field.as_ref().clone().with_data_type(kind))
}

/// Runs the decoder. It does not check everything that a damaged file can claim, so a panic of it is reported as a
/// damaged file.
fn decoded<T>(run: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T, String> {
    let ran = catch_panic(run).map_err(|why| format!("the decoder gave up: {why}"))?;
    ran.map_err(|error| error.to_string())
}

/// Reads the columns and lengths of a file.
pub(super) fn footer(file: &DataFile) -> Result<ParquetFile, SqlError> {
    let OpenParquet { footer, .. } = OpenParquet::open(file, None)?;
    let all = footer.metadata().metadata();
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    let fields = footer.columns().iter();
    Ok(ParquetFile {
        fields: fields.filter(|field| !is_row_number(field)).cloned().collect(),
        decoding: footer.decoding(),
        groups: rows_of(all).collect(),
        bytes: all.row_groups().iter().map(|group| count(group.total_byte_size())).sum(),
    })
}

/// Rows of each row group.
fn rows_of(file: &ParquetMetaData) -> impl Iterator<Item = u64> {
    file.row_groups().iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0))
}

/// The condition by which row groups are left out, where the filters make one of the least and greatest values.
pub(super) fn pruned_by(
    session: &dyn Session,
    schema: &SchemaRef,
    filters: &[Expr],
) -> Option<PruningPredicate> {
    let filter = conjunction(filters.iter().cloned())?;
    let columns = DFSchema::try_from(schema.as_ref().clone()).ok()?;
    // A filter that cannot be made a physical expression here is left to the engine.
    let filter = session.create_physical_expr(filter, &columns).ok()?;
    let made =
        PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema)).try_build(filter);
    made.ok().filter(|predicate| !predicate.always_true())
}

pub(super) struct ParquetScan {
    /// All columns of the table; `schema` has those that are wanted.
    pub(super) table: SchemaRef,
    pub(super) schema: SchemaRef,
    pub(super) prune: Option<PruningPredicate>,
    /// Bytes that the rows of a batch should have.
    pub(super) bytes: usize,
}

impl ParquetScan {
    /// Pushes the rows of some row groups of a file, so many at a time at most; says whether more are wanted.
    ///
    /// # Errors
    /// [`SqlError::File`], with the row and the column where a value is not what the column of the table holds.
    pub(super) fn push(
        &self,
        (file, known): (&DataFile, &ParquetFile),
        groups: Range<usize>,
        rows: usize,
        sink: &mut BatchSink<'_>,
    ) -> Result<ControlFlow<()>, SqlError> {
        let OpenParquet { file: opened, footer } = OpenParquet::open(file, Some(&known.decoding))?;
        let metadata = footer.metadata();
        let all = metadata.metadata();
        if !rows_of(all).eq(known.groups.iter().copied()) {
            return Err(file.fault("it was written again while the statement ran"));
        }
        let kept = self.kept(file, metadata, groups);
        let at = |field: &FieldRef| {
            let is_own = file.partition(field.name()).is_none();
            footer.columns().find(field.name()).map(|(at, _)| at).filter(|_| is_own)
        };
        let wanted: Vec<Option<usize>> = self.schema.fields().iter().map(at).collect();
        let projection = footer.projection(wanted.iter().copied().flatten());
        // The decoder gives columns in the order of the file.
        let mut decoded_columns: Vec<usize> = wanted.iter().copied().flatten().collect();
        decoded_columns.sort_unstable();
        let place = |at: usize| Some((at, decoded_columns.binary_search(&at).ok()?));
        let places: Vec<Option<(usize, usize)>> =
            wanted.iter().map(|at| at.and_then(place)).collect();
        for group in kept {
            let before = all.row_groups().iter().take(group).map(RowGroupMetaData::num_rows);
            let at_once =
                self.rows_at_once(invariant::at(all.row_groups(), group), &projection, rows);
            let read = || {
                footer.rows(
                    metadata.clone(),
                    || opened.try_clone(),
                    |rows| {
                        rows.with_projection(projection.clone())
                            .with_row_groups(vec![group])
                            .with_batch_size(at_once)
                    },
                )
            };
            // Counted from 1.
            let mut from = before.sum::<i64>().saturating_add(1);
            let fault = |why: String, from: i64| file.fault(&format!("rows from {from} on: {why}"));
            let mut reader = decoded(read).map_err(|why| fault(why, from))?;
            let mut next = || catch_panic(|| reader.next());
            loop {
                let read = next().map_err(|why| format!("the decoder gave up: {why}"));
                let read = read.and_then(|read| read.map_err(|error| error.to_string()));
                let Some(batch) = read.map_err(|why| fault(why, from))? else { break };
                let made =
                    self.batch(file, (&footer, &places), &batch).map_err(|why| fault(why, from))?;
                from = from.saturating_add(i64::try_from(batch.num_rows()).unwrap_or(i64::MAX));
                if sink(made).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The row groups that may have rows for which the condition is true.
    fn kept(
        &self,
        file: &DataFile,
        metadata: &ArrowReaderMetadata,
        groups: Range<usize>,
    ) -> Vec<usize> {
        let of = part(metadata.metadata().row_groups(), groups.clone());
        let bounds = GroupBounds { file, metadata, groups: of, table: &self.table };
        // If the bounds do not decide, no row group is skipped.
        let pruned = self.prune.as_ref().and_then(|prune| prune.prune(&bounds).ok());
        let is_kept = |at: usize| pruned.as_ref().and_then(|kept| kept.get(at)).copied();
        groups.enumerate().filter(|(at, _)| is_kept(*at).unwrap_or(true)).map(|(_, g)| g).collect()
    }

    /// Rows of a batch: fewer where the rows of the group are long on average.
    fn rows_at_once(
        &self,
        group: &RowGroupMetaData,
        projection: &ProjectionMask,
        rows: usize,
    ) -> usize {
        let columns = group.columns().iter().enumerate();
        let wanted = columns.filter(|(at, _)| projection.leaf_included(*at));
        let bytes: i64 = wanted.map(|(_, column)| column.uncompressed_size()).sum();
        let average = usize::try_from(bytes / group.num_rows().max(1)).unwrap_or(usize::MAX);
        (self.bytes / average.max(1)).clamp(1, rows.max(1))
    }

    /// Decoded rows as rows of the table. `places` has, for each column of the table, its place in the file and among
    /// the decoded columns.
    fn batch(
        &self,
        file: &DataFile,
        (footer, places): (&ParquetFooter, &[Option<(usize, usize)>]),
        read: &RecordBatch,
    ) -> Result<RecordBatch, String> {
        let rows = read.num_rows();
        let column = |(field, place): (&FieldRef, &Option<(usize, usize)>)| {
            let (name, to) = (field.name(), field.data_type());
            if let Some(value) = file.partition(name) {
                let value = ScalarValue::Utf8View(value.map(str::to_owned));
                return value.to_array_of_size(rows).map_err(|error| error.to_string());
            }
            let given = place.and_then(|(at, place)| {
                Some((footer.columns().get(at)?, read.columns().get(place)?))
            });
            let Some((field, read)) = given else { return Ok(new_null_array(to, rows)) };
            // The decoder may give a UUID as text already.
            let column = as_type(read, field.data_type()).unwrap_or_else(|_| Arc::clone(read));
            converted(field, &column, to).map_err(|why| format!("column `{name}`: {why}"))
        };
        let columns = self.schema.fields().iter().zip(places).map(column);
        let columns = columns.collect::<Result<Vec<ArrayRef>, String>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| error.to_string())
    }
}

/// Least and greatest values of row groups, converted to the types of the table.
struct GroupBounds<'f> {
    file: &'f DataFile,
    metadata: &'f ArrowReaderMetadata,
    groups: &'f [RowGroupMetaData],
    table: &'f Schema,
}

impl GroupBounds<'_> {
    /// The value that a directory's name gives for a column, once for each row group; none for another column.
    fn partition(&self, column: &Column) -> Option<ArrayRef> {
        let value = self.file.partition(&column.name)?.map(str::to_owned);
        ScalarValue::Utf8View(value).to_array_of_size(self.groups.len()).ok()
    }

    fn converter(&self, column: &Column) -> Option<StatisticsConverter<'_>> {
        self.file.partition(&column.name).is_none().then_some(())?;
        let parquet = self.metadata.parquet_schema();
        // Statistics are found by place, and places agree only where the file has no nested columns.
        let groups = parquet.root_schema().get_fields().len();
        (groups == self.metadata.schema().fields().len()).then_some(())?;
        StatisticsConverter::try_new(&column.name, self.metadata.schema(), parquet).ok()
    }

    /// Bounds converted to the table's type, if values have the same order in it.
    fn bounds(&self, column: &Column, of_file: &Field, bounds: ArrayRef) -> Option<ArrayRef> {
        let to = self.table.field_with_name(&column.name).ok()?.data_type();
        let from = of_file.data_type();
        let is_ordered = from == to || from.is_numeric() && to.is_numeric() || from.is_string();
        (is_ordered && !from.is_binary()).then(|| converted(of_file, &bounds, to).ok()).flatten()
    }
}

impl PruningStatistics for GroupBounds<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        if let Some(value) = self.partition(column) {
            return Some(value);
        }
        let converter = self.converter(column)?;
        let least = converter.row_group_mins(self.groups).ok()?;
        self.bounds(column, converter.arrow_field(), least)
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        if let Some(value) = self.partition(column) {
            return Some(value);
        }
        // The greatest float of a file leaves NaN out, which is above all numbers.
        let converter =
            self.converter(column).filter(|it| !it.arrow_field().data_type().is_floating())?;
        let greatest = converter.row_group_maxes(self.groups).ok()?;
        self.bounds(column, converter.arrow_field(), greatest)
    }

    fn num_containers(&self) -> usize {
        self.groups.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        // A file without null counts may have nulls.
        let converter = self.converter(column)?.with_missing_null_counts_as_zero(false);
        let counts = converter.row_group_null_counts(self.groups).ok()?;
        Some(Arc::new(counts))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        let count = |group: &RowGroupMetaData| u64::try_from(group.num_rows()).unwrap_or(u64::MAX);
        Some(Arc::new(UInt64Array::from_iter_values(self.groups.iter().map(count))))
    }

    fn contained(
        &self,
        _: &Column,
        _: &std::collections::HashSet<ScalarValue>,
    ) -> Option<arrow::array::BooleanArray> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::functions::table_functions::files::{TableFileKind, find};
    use arrow::array::Int64Array;
    use parquet::arrow::ArrowWriter;

    /// A file with a row group for each of these.
    fn write(path: &std::path::Path, groups: &[i64]) {
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, false)]));
        let mut out = ArrowWriter::try_new(File::create(path).unwrap(), schema, None).unwrap();
        for rows in groups {
            let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..*rows));
            out.write(&RecordBatch::try_from_iter([("a", column)]).unwrap()).unwrap();
            out.flush().unwrap();
        }
        out.close().unwrap();
    }

    // Row groups that were gone left their rows out of the answer.
    #[test]
    fn a_file_written_again_while_it_is_read_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        write(&path, &[3, 4]);
        let file = find(TableFileKind::Parquet, &path.display().to_string()).unwrap().remove(0);
        let known = footer(&file).unwrap();
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
        let table = Arc::clone(&schema);
        let scan = ParquetScan { table, schema, prune: None, bytes: 1 << 20 };
        let rows = || {
            let mut rows = 0;
            let mut sink = |batch: RecordBatch| {
                rows += batch.num_rows();
                ControlFlow::Continue(())
            };
            let pushed = scan.push((&file, &known), 0..2, 100, &mut sink);
            pushed.map(|_| rows).map_err(|error| error.to_string())
        };
        assert_eq!(rows(), Ok(7));
        for other in [&[3][..], &[3, 4, 1], &[3, 5]] {
            write(&path, other);
            assert!(rows().unwrap_err().contains("written again"), "{other:?}");
        }
    }
}
