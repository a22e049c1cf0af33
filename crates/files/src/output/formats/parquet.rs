//! Parquet, a row group a group: of documents, answers, and rows of epochs, which are read back.
//!
//! The columns of a group are encoded in parallel.
//!
//! Rows of epochs: one row a row, its views as columns. Columns: `input_ids`, `labels` (unshifted, -100 on the first
//! token of a segment, on pads and on what is not trained on), `loss_mask` (1 where the next token is a target),
//! `position_ids`, `seq_lengths`, `seq_start_id`, `source`, `doc_ids`, `doc_offsets`, and `loss_weights` (unshifted)
//! where documents say what is trained on. Pads are in the first four and the last only.

use crate::output::compression::{FileOutput, OutputCompression};
use crate::output::error::WriteError;
use crate::output::files::{HashedFile, ManifestFile};
use crate::output::format::{
    EncodedGroup, FileSpec, GroupContent, OutputFormat, ShardFile, TableColumns, TableFormat,
    whole_column,
};
use crate::output::parquet_columns::{ColumnChunk, chunks};
use crate::output::row_format::{
    DirectoryReader, EncodedRows, RowFormat, RowShard, RowSpec, ShardDirectory, ShardReadError,
    ShardReader, damaged, or_damaged, shard_name,
};
use crate::output::rows::{BatchColumn, ELEMENT, RowColumn, signed_ids};
use crate::output::token_batch::{BATCH_ROWS, BATCH_TOKENS, TokenBatch};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, FieldRef, IntervalUnit, Schema, SchemaRef};
use model::{IoError, catch_panic};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::arrow_writer::ArrowRowGroupWriterFactory;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{CdcOptions, EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Level of zstd for documents and answers.
const ZSTD_LEVEL: i32 = 3;

pub(super) static PARQUET: OutputFormat = OutputFormat {
    name: "parquet",
    about: "Parquet",
    endings: &["parquet"],
    compressions: &OutputCompression::ALL,
    default_compression: OutputCompression::Zstd,
    is_compressed_whole: false,
    streams: false,
    columns: TableColumns::Typed,
    loss: None,
    table: Some(&Parquet),
};

pub(super) struct Parquet;

impl TableFormat for Parquet {
    fn check(&self, spec: &FileSpec) -> Result<(), WriteError> {
        match spec.schema.fields().iter().find(|field| !is_held(field)) {
            Some(field) => Err(WriteError::Unfit(format!(
                "the column `{}` has the type {}, which Parquet cannot hold: cast it, or write arrow or jsonl",
                field.name(),
                field.data_type()
            ))),
            None => Ok(()),
        }
    }

    fn encode(&self, spec: &FileSpec, rows: &[RecordBatch]) -> Result<EncodedGroup, WriteError> {
        let failed = WriteError::parquet("encoding for", Path::new("Parquet"));
        let schema = &spec.schema;
        let columns = schema.fields().iter().enumerate();
        let columns = columns.map(|(at, field)| whole_column(rows, at, field.data_type()));
        let columns = columns.collect::<Result<Vec<_>, _>>();
        let columns = columns.map_err(|error| WriteError::Bug(error.to_string()))?;
        let properties = properties(spec);
        let chunks = ArrowWriter::try_new(io::sink(), Arc::clone(schema), Some(properties.clone()))
            .and_then(ArrowWriter::into_serialized_writer)
            .and_then(|(_, writers)| chunks(&writers, schema, &columns, &properties))
            .map_err(failed)?;
        let rows = rows.iter().map(|rows| rows.num_rows() as u64).sum();
        Ok(EncodedGroup { rows, lost: Vec::new(), content: GroupContent::Chunks(chunks) })
    }

    fn create<'a>(
        &self,
        spec: &FileSpec,
        out: FileOutput<'a>,
    ) -> Result<Box<dyn ShardFile + 'a>, WriteError> {
        let FileOutput::File(file) = out else {
            return Err(WriteError::Bug("Parquet on a stream".to_owned()));
        };
        Ok(Box::new(TableFile::of(file, Arc::clone(&spec.schema), properties(spec))?))
    }
}

/// Whether Parquet has the type of a column, and the library writes it.
fn is_held(field: &FieldRef) -> bool {
    let schema = Schema::new(vec![Arc::clone(field)]);
    ArrowSchemaConverter::new().convert(&schema).is_ok() && !has_intervals(field.data_type())
}

/// Whether a type has intervals of months, days and nanoseconds, which the library converts but does not write.
fn has_intervals(of: &DataType) -> bool {
    match of {
        DataType::Interval(IntervalUnit::MonthDayNano) => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_intervals(field.data_type())),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_intervals(item.data_type()),
        _ => false,
    }
}

/// The codec of pages; `zstd_level` counts for that one alone.
fn codec(compression: OutputCompression, zstd_level: i32) -> Compression {
    match compression {
        OutputCompression::None => Compression::UNCOMPRESSED,
        OutputCompression::Snappy => Compression::SNAPPY,
        OutputCompression::Lz4 => Compression::LZ4_RAW,
        OutputCompression::Gzip => Compression::GZIP(GzipLevel::default()),
        OutputCompression::Zstd => {
            Compression::ZSTD(ZstdLevel::try_new(zstd_level).unwrap_or_default())
        }
    }
}

/// Texts are plain: a dictionary of them would be as long as they are. Least and greatest values of numbers and short
/// texts let readers pass over row groups; those of texts would be texts.
fn properties(spec: &FileSpec) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("corpusdb ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(codec(spec.compression, ZSTD_LEVEL))
        .set_content_defined_chunking(pages(spec.content_defined_chunks))
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for field in spec.schema.fields() {
        if *field.data_type() == DataType::LargeUtf8 {
            let path = ColumnPath::new(vec![field.name().clone()]);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_statistics_enabled(path, EnabledStatistics::None);
        }
    }
    properties.build()
}

/// How pages are cut: by content, in the library's own sizes (256 KiB to 1 MiB of values), which other writers share, so
/// that equal columns of theirs have equal pages; or evenly.
fn pages(by_content: bool) -> Option<CdcOptions> {
    by_content.then(CdcOptions::default)
}

/// A Parquet file under way.
pub(crate) struct TableFile {
    path: PathBuf,
    schema: SchemaRef,
    writer: SerializedFileWriter<HashedFile>,
    columns: ArrowRowGroupWriterFactory,
    properties: WriterProperties,
    rows: u64,
}

impl TableFile {
    /// Creates `dir/name` with these columns.
    pub fn create(
        dir: &Path,
        name: &str,
        schema: SchemaRef,
        properties: WriterProperties,
    ) -> Result<Self, WriteError> {
        Self::of(HashedFile::create(dir, name)?, schema, properties)
    }

    /// Writes the table into a file that is begun.
    pub fn of(
        file: HashedFile,
        schema: SchemaRef,
        properties: WriterProperties,
    ) -> Result<Self, WriteError> {
        let path = file.path().to_path_buf();
        let (writer, columns) =
            ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties.clone()))
                .and_then(ArrowWriter::into_serialized_writer)
                .map_err(WriteError::parquet("creating", &path))?;
        Ok(Self { path, schema, writer, columns, properties, rows: 0 })
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    /// Appends a row group; `columns` in the order of the fields, all of `rows` rows.
    pub fn write(&mut self, columns: &[ArrayRef], rows: usize) -> Result<(), WriteError> {
        let chunks = chunks(&self.columns, &self.schema, columns, &self.properties);
        let chunks = chunks.map_err(WriteError::parquet("writing", &self.path))?;
        self.write_chunks(chunks, rows as u64)
    }

    /// Appends a row group of `rows` rows.
    fn write_chunks(&mut self, chunks: Vec<ColumnChunk>, rows: u64) -> Result<(), WriteError> {
        let writer = &mut self.writer;
        let written = || {
            let mut group = writer.next_row_group()?;
            for chunk in chunks {
                chunk.append_to(&mut group)?;
            }
            group.close()
        };
        written().map_err(WriteError::parquet("writing", &self.path))?;
        self.rows += rows;
        Ok(())
    }

    /// Completes the file.
    pub fn finish(self) -> Result<ManifestFile, WriteError> {
        let file = self.writer.into_inner().map_err(WriteError::parquet("writing", &self.path))?;
        file.finish(self.rows)
    }
}

impl ShardFile for TableFile {
    fn append(&mut self, group: EncodedGroup) -> Result<(), WriteError> {
        match group.content {
            GroupContent::Chunks(_) if group.rows == 0 => Ok(()),
            GroupContent::Chunks(chunks) => self.write_chunks(chunks, group.rows),
            _ => Err(EncodedGroup::mismatch()),
        }
    }

    fn bytes(&self) -> u64 {
        Self::bytes(self)
    }

    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, WriteError> {
        Ok(vec![Self::finish(*self)?])
    }
}

/// Columns besides ids and segments where a recipe names none.
pub(super) const DEFAULT_COLUMNS: &[RowColumn] =
    &[RowColumn::Labels, RowColumn::LossMask, RowColumn::PositionIds, RowColumn::SeqStartId];

/// Columns before those of segments, among them (in JSON lines behind them), and after, where they are asked for.
pub(super) const BEFORE: [RowColumn; 3] =
    [RowColumn::Labels, RowColumn::LossMask, RowColumn::PositionIds];
pub(super) const AMONG: [RowColumn; 1] = [RowColumn::SeqStartId];
pub(super) const AFTER: [RowColumn; 6] = [
    RowColumn::LossWeights,
    RowColumn::AttentionMask,
    RowColumn::CuSeqlens,
    RowColumn::MaxSeqlen,
    RowColumn::SegmentIds,
    RowColumn::SeqIdx,
];

/// The columns of rows, in the order of Parquet and Arrow.
pub fn table_columns(spec: &RowSpec) -> Vec<BatchColumn> {
    let mut columns = vec![BatchColumn::Ids];
    columns.extend(asked(spec, &BEFORE));
    columns.push(BatchColumn::SeqLengths);
    columns.extend(asked(spec, &AMONG));
    columns.extend([BatchColumn::Source, BatchColumn::DocIds, BatchColumn::DocOffsets]);
    columns.extend(asked(spec, &AFTER));
    columns
}

/// The columns of `among` that are asked for.
pub(super) fn asked(spec: &RowSpec, among: &[RowColumn]) -> Vec<BatchColumn> {
    let asked = among.iter().filter(|column| spec.columns.contains(column));
    asked.map(|column| BatchColumn::View(*column)).collect()
}

/// The fields of columns in files that have ids as i32.
pub fn signed_fields(columns: &[BatchColumn]) -> Vec<Field> {
    columns.iter().map(|column| column.signed_field()).collect()
}

/// The columns of rows with their ids as i32, in the order of the batch.
pub fn signed_columns(rows: &TokenBatch) -> Vec<ArrayRef> {
    let (schema, columns) = (rows.batch().schema(), rows.batch().columns());
    let signed =
        |(field, column): (&Arc<Field>, &ArrayRef)| match field.name() == BatchColumn::Ids.name() {
            true => signed_ids(column),
            false => Arc::clone(column),
        };
    schema.fields().iter().zip(columns).map(signed).collect()
}

impl RowFormat for Parquet {
    fn is_read_as_table(&self) -> bool {
        true
    }

    fn default_columns(&self, _has_loss_masks: bool) -> Option<&'static [RowColumn]> {
        Some(DEFAULT_COLUMNS)
    }

    fn compressions(&self) -> &'static [OutputCompression] {
        &[
            OutputCompression::Zstd,
            OutputCompression::None,
            OutputCompression::Snappy,
            OutputCompression::Lz4,
        ]
    }

    fn columns(&self, spec: &RowSpec) -> Vec<BatchColumn> {
        table_columns(spec)
    }

    fn create(
        &self,
        spec: &RowSpec,
        dir: &Path,
        number: u32,
    ) -> Result<Box<dyn RowShard>, WriteError> {
        let fields = signed_fields(&self.columns(spec));
        let properties = row_properties(&fields, spec.compression, spec.content_defined_chunks);
        let schema = Arc::new(Schema::new(fields));
        let name = shard_name(number, "parquet");
        let file = TableFile::create(dir, &name, schema, properties)?;
        Ok(Box::new(ParquetRowShard { file, largest: 0 }))
    }

    fn open(&self, spec: &RowSpec, dir: &Path) -> Result<Box<dyn DirectoryReader>, ShardReadError> {
        Ok(Box::new(ParquetDirectory(ShardDirectory::list(dir, spec)?)))
    }
}

/// A shard under way: a row group a group.
struct ParquetRowShard {
    file: TableFile,
    /// Bytes of the largest row group so far: what the next one is expected to take.
    largest: u64,
}

impl RowShard for ParquetRowShard {
    fn append(&mut self, group: EncodedRows) -> Result<(), WriteError> {
        let before = self.file.bytes();
        self.file.write(&signed_columns(&group.rows), group.rows.len())?;
        self.largest = self.largest.max(self.file.bytes() - before);
        Ok(())
    }

    fn is_full(&self, limit: u64) -> bool {
        self.file.bytes() + self.largest > limit
    }

    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, WriteError> {
        Ok(vec![self.file.finish()?])
    }
}

/// Creates `dir/name` with these columns.
pub(super) fn table_file(
    dir: &Path,
    name: &str,
    fields: Vec<Field>,
    compression: OutputCompression,
) -> Result<TableFile, WriteError> {
    let properties = row_properties(&fields, compression, false);
    TableFile::create(dir, name, Arc::new(Schema::new(fields)), properties)
}

/// Columns of token ids.
const IDS: [&str; 2] = ["input_ids", "labels"];

/// Level of zstd for rows of epochs.
const ROW_ZSTD_LEVEL: i32 = 1;

/// zstd 1 throughout. Token ids are plain, so that zstd sees repeated phrases: on text and code that
/// takes half the bytes of bit-packed deltas, and every reader has it. Positions, starts, masks and
/// offsets are steps of 0 or 1, which deltas reduce to nothing; names have a dictionary.
fn row_properties(
    fields: &[Field],
    compression: OutputCompression,
    by_content: bool,
) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("corpusdb ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(codec(compression, ROW_ZSTD_LEVEL))
        .set_content_defined_chunking(pages(by_content))
        .set_statistics_enabled(EnabledStatistics::None);
    for field in fields {
        let path = match field.data_type() {
            DataType::List(_) => vec![field.name().clone(), "list".to_owned(), ELEMENT.to_owned()],
            _ => vec![field.name().clone()],
        };
        if *field.data_type() != DataType::Utf8 && !is_float(field) {
            let ids = IDS.contains(&field.name().as_str());
            let encoding = if ids { Encoding::PLAIN } else { Encoding::DELTA_BINARY_PACKED };
            let path = ColumnPath::new(path);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, encoding);
        }
    }
    properties.build()
}

/// Weights are a few numbers over and over, as names are.
fn is_float(field: &Field) -> bool {
    matches!(field.data_type(), DataType::List(values) if *values.data_type() == DataType::Float32)
}

struct ParquetDirectory(ShardDirectory);

impl DirectoryReader for ParquetDirectory {
    fn shard_files(&self, shard: usize) -> Vec<String> {
        vec![shard_name(shard as u64, "parquet")]
    }

    fn open_shard(&self, shard: usize) -> Result<Box<dyn ShardReader>, ShardReadError> {
        let path = self.0.path.join(shard_name(shard as u64, "parquet"));
        let columns = table_columns(&self.0.spec);
        Ok(Box::new(ParquetRowReader { table: ParquetTableReader::open(&path)?, columns }))
    }
}

/// The rows of a shard.
struct ParquetRowReader {
    table: ParquetTableReader,
    columns: Vec<BatchColumn>,
}

impl ShardReader for ParquetRowReader {
    fn next_batch(&mut self) -> Result<Option<TokenBatch>, ShardReadError> {
        let Some(batch) = self.table.next_batch()? else { return Ok(None) };
        or_damaged(&self.table.path, TokenBatch::new(&batch, &self.columns)).map(Some)
    }
}

/// A Parquet file read batch by batch, none reaching over the end of a row group: these are of a bounded
/// number of values, where a number of rows may be any number of them.
pub(super) struct ParquetTableReader {
    pub path: PathBuf,
    file: File,
    metadata: ArrowReaderMetadata,
    /// The row group that is read next.
    next: usize,
    batches: Option<ParquetRecordBatchReader>,
}

impl ParquetTableReader {
    pub fn open(path: &Path) -> Result<Self, ShardReadError> {
        let file = File::open(path).map_err(IoError::of("opening", path))?;
        // Parquet's own types are the contract; decoding Arrow's copy of the schema panics on damage.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guarded(path, || ArrowReaderMetadata::load(&file, options))?;
        Ok(Self { path: path.to_path_buf(), file, metadata, next: 0, batches: None })
    }

    /// The next batch; nothing at the end.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, ShardReadError> {
        loop {
            if self.batches.is_none() && !self.enter_group()? {
                return Ok(None);
            }
            let Some(batches) = &mut self.batches else { return Ok(None) };
            match guarded(&self.path, || batches.next().transpose())? {
                Some(batch) => return Ok(Some(batch)),
                None => self.batches = None,
            }
        }
    }

    /// Begins with the next row group; false where there is none.
    fn enter_group(&mut self) -> Result<bool, ShardReadError> {
        let Some(group) = self.metadata.metadata().row_groups().get(self.next) else {
            return Ok(false);
        };
        let values = group.columns().iter().map(|column| column.num_values()).max().unwrap_or(0);
        let of = |number: i64| usize::try_from(number).unwrap_or(0);
        let mean = of(values).div_ceil(of(group.num_rows()).max(1)).max(1);
        let rows = (BATCH_TOKENS / mean).clamp(1, BATCH_ROWS);
        let file = self.file.try_clone().map_err(IoError::of("opening", &self.path))?;
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let group = vec![self.next];
        self.next += 1;
        let open = || builder.with_row_groups(group).with_batch_size(rows).build();
        self.batches = Some(guarded(&self.path, open)?);
        Ok(true)
    }
}

/// What a decoder makes of a file; its error or its panic is that of a damaged file: it checks less than all that such
/// a file can claim.
pub(super) fn guarded<T, E: std::fmt::Display>(
    path: &Path,
    decode: impl FnOnce() -> Result<T, E>,
) -> Result<T, ShardReadError> {
    match catch_panic(decode) {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => damaged(path, error),
        Err(why) => damaged(path, format!("its decoder gave up: {why}")),
    }
}
