//! A Parquet file of list columns: one row group a chunk, columns encoded in parallel.

use super::files::HashedFile;
use crate::epoch::error::EpochError;
use crate::epoch::export::ManifestFile;
use crate::epoch::recipe::Compression;
use ::arrow::array::{ArrayRef, ArrowPrimitiveType, ListArray, PrimitiveArray};
use ::arrow::buffer::{OffsetBuffer, ScalarBuffer};
use ::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use ::parquet::basic::{self, Encoding, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::ColumnPath;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the values of a list, as the Parquet standard has it.
const ELEMENT: &str = "element";

/// Compression of tables beside token files, which are small.
pub(super) const SMALL: Compression = Compression::Zstd;

/// A Parquet file under way.
pub(super) struct TableFile {
    path: PathBuf,
    schema: SchemaRef,
    writer: SerializedFileWriter<HashedFile>,
    columns: ArrowRowGroupWriterFactory,
    groups: usize,
    rows: u64,
}

impl TableFile {
    /// Creates `dir/name` with these columns.
    pub fn create(
        dir: &Path,
        name: &str,
        fields: Vec<Field>,
        compression: Compression,
    ) -> Result<Self, EpochError> {
        let file = HashedFile::create(dir, name)?;
        let path = file.path().to_path_buf();
        let properties = properties(&fields, compression);
        let schema = Arc::new(Schema::new(fields));
        let (writer, columns) = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))
            .and_then(ArrowWriter::into_serialized_writer)
            .map_err(EpochError::parquet("creating", &path))?;
        Ok(Self { path, schema, writer, columns, groups: 0, rows: 0 })
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    /// Appends a row group; `columns` in the order of the fields, all of `rows` rows.
    pub fn write(&mut self, columns: &[ArrayRef], rows: usize) -> Result<(), EpochError> {
        self.try_write(columns).map_err(EpochError::parquet("writing", &self.path))?;
        self.rows += rows as u64;
        Ok(())
    }

    fn try_write(&mut self, columns: &[ArrayRef]) -> Result<(), ParquetError> {
        let writers = self.columns.create_column_writers(self.groups)?;
        self.groups += 1;
        let mut leaves = Vec::new();
        for (field, column) in self.schema.fields().iter().zip(columns) {
            leaves.extend(compute_leaves(field, column)?);
        }
        // Every column is encoded by itself, so threads change the time and not the bytes.
        let pairs: Vec<(ArrowColumnWriter, _)> = writers.into_iter().zip(leaves).collect();
        let chunks: Vec<ArrowColumnChunk> = pairs
            .into_par_iter()
            .map(|(mut writer, leaf)| {
                writer.write(&leaf)?;
                writer.close()
            })
            .collect::<Result<_, ParquetError>>()?;
        let mut group = self.writer.next_row_group()?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    /// Completes the file.
    pub fn finish(self) -> Result<ManifestFile, EpochError> {
        let file = self.writer.into_inner().map_err(EpochError::parquet("writing", &self.path))?;
        file.finish(self.rows)
    }
}

/// Columns of token ids.
const IDS: [&str; 2] = ["input_ids", "labels"];

/// zstd 1 throughout. Token ids are plain, so that zstd sees repeated phrases: on text and code that
/// takes half the bytes of bit-packed deltas, and every reader has it. Positions, starts, masks and
/// offsets are steps of 0 or 1, which deltas reduce to nothing; names have a dictionary.
fn properties(fields: &[Field], compression: Compression) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("corpusdb ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(codec(compression))
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

fn codec(compression: Compression) -> basic::Compression {
    match compression {
        Compression::None => basic::Compression::UNCOMPRESSED,
        Compression::Snappy => basic::Compression::SNAPPY,
        Compression::Lz4 => basic::Compression::LZ4_RAW,
        Compression::Zstd => basic::Compression::ZSTD(ZstdLevel::try_new(1).unwrap_or_default()),
    }
}

/// The field of a list column without nulls.
pub(super) fn list_field(name: &str, values: DataType) -> Field {
    Field::new(name, DataType::List(Arc::new(Field::new(ELEMENT, values, false))), false)
}

/// A list column: `values` of all rows in order, cut by the `lengths` of the rows.
pub(super) fn list_column<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    lengths: impl IntoIterator<Item = usize>,
) -> ArrayRef {
    let values = PrimitiveArray::<T>::new(ScalarBuffer::from(values), None);
    let field = Arc::new(Field::new(ELEMENT, T::DATA_TYPE, false));
    Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths), Arc::new(values), None))
}
