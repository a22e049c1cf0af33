//! Parquet: a row group a group, its columns encoded in parallel.

use crate::output::compression::{FileOutput, OutputCompression};
use crate::output::error::WriteError;
use crate::output::files::{HashedFile, ManifestFile};
use crate::output::format::{
    EncodedGroup, FileSpec, GroupContent, OutputFormat, ShardFile, TableColumns, TableFormat,
    one_batch,
};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, FieldRef, IntervalUnit, Schema, SchemaRef};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use rayon::prelude::*;
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

struct Parquet;

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
        let rows = one_batch(&spec.schema, rows)?;
        let failed = WriteError::parquet("encoding for", Path::new("Parquet"));
        let chunks = ArrowWriter::try_new(io::sink(), rows.schema(), Some(properties(spec)))
            .and_then(ArrowWriter::into_serialized_writer)
            .and_then(|(_, columns)| chunks(&columns, rows.schema_ref(), rows.columns()))
            .map_err(failed)?;
        let (rows, lost) = (rows.num_rows() as u64, Vec::new());
        Ok(EncodedGroup { rows, lost, content: GroupContent::Chunks(chunks) })
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
pub(super) fn codec(compression: OutputCompression, zstd_level: i32) -> Compression {
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

/// The column chunks of a row group; `columns` in the order of the fields.
fn chunks(
    writers: &ArrowRowGroupWriterFactory,
    schema: &SchemaRef,
    columns: &[ArrayRef],
) -> Result<Vec<ArrowColumnChunk>, ParquetError> {
    // The number of a row group counts for encryption alone, so the chunks may go into any file.
    let writers = writers.create_column_writers(0)?;
    let mut leaves = Vec::new();
    for (field, column) in schema.fields().iter().zip(columns) {
        leaves.extend(compute_leaves(field, column)?);
    }
    // Every column is encoded by itself, so threads change the time and not the bytes.
    let pairs: Vec<(ArrowColumnWriter, _)> = writers.into_iter().zip(leaves).collect();
    pairs
        .into_par_iter()
        .map(|(mut writer, leaf)| {
            writer.write(&leaf)?;
            writer.close()
        })
        .collect()
}

/// A Parquet file under way.
pub(crate) struct TableFile {
    path: PathBuf,
    schema: SchemaRef,
    writer: SerializedFileWriter<HashedFile>,
    columns: ArrowRowGroupWriterFactory,
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

    /// The same of a file that is begun.
    pub fn of(
        file: HashedFile,
        schema: SchemaRef,
        properties: WriterProperties,
    ) -> Result<Self, WriteError> {
        let path = file.path().to_path_buf();
        let (writer, columns) = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))
            .and_then(ArrowWriter::into_serialized_writer)
            .map_err(WriteError::parquet("creating", &path))?;
        Ok(Self { path, schema, writer, columns, rows: 0 })
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    /// Appends a row group; `columns` in the order of the fields, all of `rows` rows.
    pub fn write(&mut self, columns: &[ArrayRef], rows: usize) -> Result<(), WriteError> {
        let chunks = chunks(&self.columns, &self.schema, columns);
        let chunks = chunks.map_err(WriteError::parquet("writing", &self.path))?;
        self.write_chunks(chunks, rows as u64)
    }

    /// Appends a row group of `rows` rows.
    fn write_chunks(&mut self, chunks: Vec<ArrowColumnChunk>, rows: u64) -> Result<(), WriteError> {
        let writer = &mut self.writer;
        let written = || {
            let mut group = writer.next_row_group()?;
            for chunk in chunks {
                chunk.append_to_row_group(&mut group)?;
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
