//! The table over the files of `read_parquet`, `read_csv` and `read_json`: its columns, and its scan.

use super::columns::TypeColumns;
use super::files::{DataFile, TableFileKind, find};
use super::kinds::CellKind;
use super::parquet::{ParquetFile, ParquetScan, footer, pruned_by};
use super::records::{KindColumns, RecordScan, head, read_options};
use crate::sql::documents::scan::TableScanExec;
use crate::sql::documents::scan::{BatchSink, PartitionProducer};
use crate::sql::documents::table::PARTITIONS;
use crate::sql::engine::memory::BatchLimits;
use crate::sql::error::SqlError;
use crate::sql::functions::canonical_floats::canonical_batch;
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The rows of one file, of the files of a directory, or of all that a pattern matches.
#[derive(Debug)]
pub(crate) struct FileTable {
    kind: TableFileKind,
    /// The path or pattern as the statement has it.
    path: String,
    files: Arc<[DataFile]>,
    content: FileContent,
    schema: SchemaRef,
    row_bytes: usize,
    limits: FileLimits,
}

/// What was read of the files when the table was opened.
#[derive(Debug)]
enum FileContent {
    /// CSV or JSON: columns of the beginnings of the files.
    Records(KindColumns),
    /// One footer for each file.
    Parquet(Arc<[ParquetFile]>),
}

/// Limits in bytes.
#[derive(Clone, Copy, Debug)]
struct FileLimits {
    /// A row.
    row: usize,
    /// Rows of a batch.
    batch: usize,
}

impl FileTable {
    /// Opens the table of a path or pattern; reads the beginnings of the files.
    pub(super) fn open(
        kind: TableFileKind,
        path: &str,
        session: &dyn Session,
    ) -> std::result::Result<Self, SqlError> {
        let extension = session.config().get_extension::<BatchLimits>();
        let limits = extension.map_or(FileLimits { row: 64 << 20, batch: 1 << 20 }, |limits| {
            FileLimits { row: limits.file_row, batch: limits.texts }
        });
        let mut files = find(kind, path)?;
        let (content, fields, bytes, rows) = match kind {
            TableFileKind::Parquet => open_parquet(&mut files)?,
            TableFileKind::Csv | TableFileKind::Json => open_records(kind, &mut files, limits)?,
        };
        Ok(Self {
            kind,
            path: path.to_owned(),
            files: files.into(),
            content,
            schema: Arc::new(Schema::new(fields)),
            row_bytes: (bytes / rows.max(1)).max(1),
            limits,
        })
    }

    /// Bytes of a row, estimated from footers or beginnings; none when all columns named are short.
    pub(crate) fn row_bytes(&self, columns: &Schema) -> Option<usize> {
        let long = |kind: &DataType| kind.is_nested() || kind.is_string() || kind.is_binary();
        columns.fields().iter().any(|field| long(field.data_type())).then_some(self.row_bytes)
    }
}

/// What was read of the files, the columns of their table, bytes of the rows that were examined, and their number.
type OpenFiles = (FileContent, Fields, usize, usize);

fn open_parquet(files: &mut [DataFile]) -> std::result::Result<OpenFiles, SqlError> {
    let mut columns = TypeColumns::default();
    let mut footers = Vec::with_capacity(files.len());
    let (mut bytes, mut rows) = (0_u64, 0_u64);
    for file in files.iter() {
        let footer = footer(file)?;
        bytes = bytes.saturating_add(footer.bytes);
        rows = rows.saturating_add(footer.rows());
        footer.columns().for_each(|(name, kind)| columns.add(name, kind));
        footers.push(footer);
    }
    for (file, footer) in files.iter_mut().zip(&footers) {
        file.partitions.retain(|(name, _)| !footer.columns().any(|(known, _)| known == name));
        let partitions = file.partitions.iter();
        partitions.for_each(|(name, _)| columns.add(name, DataType::Utf8View));
    }
    let fields = columns.columns.into_iter().map(|(name, kind)| Field::new(name, kind, true));
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Ok((FileContent::Parquet(footers.into()), fields.collect(), count(bytes), count(rows)))
}

fn open_records(
    kind: TableFileKind,
    files: &mut [DataFile],
    limits: FileLimits,
) -> std::result::Result<OpenFiles, SqlError> {
    let mut columns = KindColumns::default();
    let (mut bytes, mut rows) = (0_usize, 0_usize);
    let count = files.len();
    for file in files.iter_mut() {
        let head = head(file, &read_options(kind, file, limits.row), count)?;
        bytes = bytes.saturating_add(head.bytes);
        rows = rows.saturating_add(head.records);
        file.partitions.retain(|(name, _)| !head.columns.has(name));
        head.columns.columns.into_iter().for_each(|(name, kind)| columns.add(&name, kind));
    }
    for (name, _) in files.iter().flat_map(|file| &file.partitions) {
        columns.add(name, CellKind::Text);
    }
    let field = |(name, kind): &(String, CellKind)| Field::new(name, kind.data_type(), true);
    let fields = columns.columns.iter().map(field).collect();
    Ok((FileContent::Records(columns), fields, bytes, rows))
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = match self.content {
            FileContent::Parquet(_) => TableProviderFilterPushDown::Inexact,
            FileContent::Records(_) => TableProviderFilterPushDown::Unsupported,
        };
        Ok(vec![support; filters.len()])
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let everything = (0..self.schema.fields().len()).collect();
        let projection = projection.unwrap_or(&everything);
        let schema = Arc::new(self.schema.project(projection)?);
        let parts = if limit.is_some() { 1 } else { PARTITIONS };
        // For Parquet the row count of the footers; the engine applies condition and limit to it.
        let (producers, rows) = match &self.content {
            FileContent::Records(columns) => {
                let wanted = projection.iter().filter_map(|at| columns.columns.get(*at));
                let mut of_scan = KindColumns::default();
                wanted.for_each(|(name, kind)| of_scan.add(name, kind.clone()));
                (self.record_producers(&of_scan, &schema, parts, limit), None)
            }
            FileContent::Parquet(footers) => {
                let prune = pruned_by(session, &self.schema, filters);
                let bytes = self.limits.batch;
                let (table, schema) = (Arc::clone(&self.schema), Arc::clone(&schema));
                let scan = Arc::new(ParquetScan { table, schema, prune, bytes });
                let rows = footers.iter().map(ParquetFile::rows).sum();
                (self.parquet_producers(&scan, footers, parts, limit), Some(rows))
            }
        };
        let mut detail = format!("files={} of {}", self.files.len(), self.path);
        if let Some(limit) = limit {
            detail.push_str(&format!(", limit={limit}"));
        }
        let rows = rows.filter(|_| limit.is_none());
        Ok(Arc::new(TableScanExec::new(
            self.kind.function(),
            schema,
            detail,
            producers,
            rows,
            None,
        )))
    }
}

impl FileTable {
    fn record_producers(
        &self,
        wanted: &KindColumns,
        schema: &SchemaRef,
        parts: usize,
        limit: Option<usize>,
    ) -> Vec<PartitionProducer> {
        let sizes = self.files.iter().map(|file| file.input.size);
        let parts = dealt(sizes.enumerate().map(|(at, size)| (at, size.max(1))), parts);
        let producer = |part: Vec<usize>| -> PartitionProducer {
            let (files, wanted) = (Arc::clone(&self.files), wanted.clone());
            let (schema, kind, limits) = (Arc::clone(schema), self.kind, self.limits);
            Arc::new(move |rows, sink| {
                let mut sink = limited(limit, sink);
                for file in part.iter().filter_map(|at| files.get(*at)) {
                    let options = read_options(kind, file, limits.row);
                    let (wanted, schema) = (wanted.clone(), Arc::clone(&schema));
                    let scan = RecordScan { options, wanted, schema, bytes: limits.batch };
                    if scan.push(file, rows, &mut sink)?.is_break() {
                        break;
                    }
                }
                Ok(())
            })
        };
        parts.into_iter().map(producer).collect()
    }

    fn parquet_producers(
        &self,
        scan: &Arc<ParquetScan>,
        footers: &Arc<[ParquetFile]>,
        parts: usize,
        limit: Option<usize>,
    ) -> Vec<PartitionProducer> {
        let groups = footers.iter().enumerate().flat_map(|(file, footer)| {
            footer.groups.iter().enumerate().map(move |(group, rows)| ((file, group), *rows))
        });
        let producer = |part: Vec<(usize, usize)>| -> PartitionProducer {
            let (files, scan) = (Arc::clone(&self.files), Arc::clone(scan));
            let footers = Arc::clone(footers);
            Arc::new(move |rows, sink| {
                let mut sink = limited(limit, sink);
                for run in part.chunk_by(|(one, _), (other, _)| one == other) {
                    let (Some((at, first)), Some((_, last))) = (run.first(), run.last()) else {
                        continue;
                    };
                    let Some(file) = files.get(*at).zip(footers.get(*at)) else { continue };
                    if scan.push(file, *first..last + 1, rows, &mut sink)?.is_break() {
                        break;
                    }
                }
                Ok(())
            })
        };
        dealt(groups, parts).into_iter().map(producer).collect()
    }
}

/// Deals items with sizes out into at most `parts` runs of about equal size; at least one run.
fn dealt<T>(of: impl Iterator<Item = (T, u64)>, parts: usize) -> Vec<Vec<T>> {
    let all: Vec<(T, u64)> = of.collect();
    let total: u64 = all.iter().map(|(_, size)| size).sum();
    let most = (total / u64::try_from(parts).unwrap_or(1).max(1)).max(1);
    let mut runs = vec![Vec::new()];
    let mut held = 0;
    for (one, size) in all {
        // An item that lies mostly beyond the border begins the next run.
        if held + size / 2 > most && runs.len() < parts {
            runs.push(Vec::new());
            held = 0;
        }
        held += size;
        if let Some(run) = runs.last_mut() {
            run.push(one);
        }
    }
    runs
}

/// A sink that takes no more rows than the limit, and of floats one zero and one NaN.
fn limited(
    limit: Option<usize>,
    sink: &mut BatchSink<'_>,
) -> impl FnMut(RecordBatch) -> ControlFlow<()> {
    let mut left = limit.unwrap_or(usize::MAX);
    move |batch: RecordBatch| {
        let batch = if batch.num_rows() > left { batch.slice(0, left) } else { batch };
        left -= batch.num_rows();
        let batch = canonical_batch(batch);
        match left {
            0 => {
                let _ = sink(batch);
                ControlFlow::Break(())
            }
            _ => sink(batch),
        }
    }
}
