//! Encodes the columns of a row group of Parquet, each by itself, with pages of even sizes or of content.
//!
//! Where content cuts the pages (a rolling hash over the values), a value that comes or goes changes the pages around it,
//! and the bytes of the others stay: a store that keeps equal chunks of bytes once keeps them once. The library has this
//! in its writer of whole files alone, so a column is written as a file of one column, whose chunks are taken over.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedRowGroupWriter;
use rayon::prelude::*;
use std::io::Write;
use std::sync::Arc;

/// An encoded column chunk.
pub struct ColumnChunk(ChunkBytes);

enum ChunkBytes {
    Arrow(Box<ArrowColumnChunk>),
    /// A chunk of a file of one column, and that file.
    OfFile(Bytes, Box<ColumnCloseResult>),
}

impl ColumnChunk {
    /// Appends it to a row group.
    pub(crate) fn append_to<W: Write + Send>(
        self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        match self.0 {
            ChunkBytes::Arrow(chunk) => (*chunk).append_to_row_group(group),
            ChunkBytes::OfFile(file, close) => group.append_column(&file, *close),
        }
    }
}

/// The column chunks of a row group; `columns` in the order of the fields. Every column is encoded by itself, so threads
/// change the time and not the bytes.
pub(crate) fn chunks(
    writers: &ArrowRowGroupWriterFactory,
    schema: &SchemaRef,
    columns: &[ArrayRef],
    properties: &WriterProperties,
) -> Result<Vec<ColumnChunk>, ParquetError> {
    let fields = || schema.fields().iter().zip(columns);
    if properties.content_defined_chunking().is_some() {
        let of: Vec<(&FieldRef, &ArrayRef)> = fields().collect();
        let chunks: Result<Vec<_>, ParquetError> = of
            .into_par_iter()
            .map(|(field, column)| by_content(field, column, properties))
            .collect();
        return Ok(chunks?.into_iter().flatten().collect());
    }
    // The number of a row group counts for encryption alone, so the chunks may go into any file.
    let writers = writers.create_column_writers(0)?;
    let mut leaves = Vec::new();
    for (field, column) in fields() {
        leaves.extend(compute_leaves(field, column)?);
    }
    let pairs: Vec<(ArrowColumnWriter, _)> = writers.into_iter().zip(leaves).collect();
    let encode = |(mut writer, leaf): (ArrowColumnWriter, _)| {
        writer.write(&leaf)?;
        Ok(ColumnChunk(ChunkBytes::Arrow(Box::new(writer.close()?))))
    };
    pairs.into_par_iter().map(encode).collect()
}

/// The chunks of one column, as many as it has leaves.
fn by_content(
    field: &FieldRef,
    column: &ArrayRef,
    properties: &WriterProperties,
) -> Result<Vec<ColumnChunk>, ParquetError> {
    // Its bytes are those of the type in the file; what it is in memory may be a view of texts.
    let field = field.as_ref().clone().with_data_type(column.data_type().clone());
    let schema = Arc::new(Schema::new(vec![field]));
    let rows = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::clone(column)])?;
    // One row group, however many rows it has.
    let properties = properties.clone().into_builder().set_max_row_group_row_count(None).build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, schema, Some(properties))?;
    writer.write(&rows)?;
    let metadata = writer.close()?;
    let file = Bytes::from(file);
    let Some(group) = metadata.row_groups().first() else { return Ok(Vec::new()) };
    let places = metadata.offset_index().and_then(|groups| groups.first());
    let chunk = |(leaf, column): (usize, &parquet::file::metadata::ColumnChunkMetaData)| {
        let close = ColumnCloseResult {
            bytes_written: u64::try_from(column.compressed_size()).unwrap_or(0),
            rows_written: rows.num_rows() as u64,
            metadata: column.clone(),
            bloom_filter: None,
            column_index: None,
            offset_index: places.and_then(|leaves| leaves.get(leaf)).cloned(),
        };
        ColumnChunk(ChunkBytes::OfFile(file.clone(), Box::new(close)))
    };
    Ok(group.columns().iter().enumerate().map(chunk).collect())
}

#[cfg(test)]
mod tests {
    use crate::output::compression::OutputCompression;
    use crate::output::files::HashedFile;
    use crate::output::format::FileSpec;
    use crate::output::formats::FormatName;
    use arrow::array::{Int64Array, LargeStringArray, RecordBatch};
    use arrow::compute::concat_batches;
    use model::mix64;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use std::collections::BTreeSet;
    use std::fs::File;
    use std::path::Path;
    use std::sync::Arc;

    /// Rows with texts of letters at random, 6 MB in all, without some of them.
    fn rows(without: &[u64]) -> RecordBatch {
        let of: Vec<u64> = (0..2000).filter(|row| !without.contains(row)).collect();
        let letter = |row: u64, at: u64| char::from(b'a' + (mix64(row << 20 | at) % 26) as u8);
        let texts = of.iter().map(|row| (0..3000).map(|at| letter(*row, at)).collect::<String>());
        let texts = LargeStringArray::from_iter_values(texts);
        let numbers = Int64Array::from_iter_values(of.iter().map(|row| *row as i64));
        RecordBatch::try_from_iter([
            ("text", Arc::new(texts) as arrow::array::ArrayRef),
            ("number", Arc::new(numbers) as arrow::array::ArrayRef),
        ])
        .unwrap()
    }

    fn write(dir: &Path, name: &str, rows: &RecordBatch, by_content: bool) -> Vec<u8> {
        let mut spec = FileSpec::new(rows.schema(), OutputCompression::Zstd);
        spec.content_defined_chunks = by_content;
        let table = FormatName::from_name("parquet").unwrap().format().table.unwrap();
        let group = table.encode(&spec, std::slice::from_ref(rows)).unwrap();
        let file = HashedFile::create(dir, name).unwrap();
        let mut file = table.create(&spec, file.into()).unwrap();
        file.append(group).unwrap();
        file.finish().unwrap();
        std::fs::read(dir.join(name)).unwrap()
    }

    /// Chunks of some 4 KiB, which content cuts: a gear hash.
    fn cut(bytes: &[u8]) -> Vec<&[u8]> {
        let (mut chunks, mut start, mut hash) = (Vec::new(), 0, 0_u64);
        for (at, byte) in bytes.iter().enumerate() {
            hash = (hash << 1).wrapping_add(mix64(u64::from(*byte) + 1));
            if hash >> 52 == 0 {
                chunks.push(&bytes[start..=at]);
                start = at + 1;
            }
        }
        chunks.push(&bytes[start..]);
        chunks
    }

    /// The share of bytes in chunks that the earlier file does not have.
    fn new_share(before: &[u8], after: &[u8]) -> f64 {
        let known: BTreeSet<&[u8]> = cut(before).into_iter().collect();
        let new = cut(after).into_iter().filter(|chunk| !known.contains(chunk));
        new.map(<[u8]>::len).sum::<usize>() as f64 / after.len() as f64
    }

    /// With pages of even sizes all that stands behind a row that is gone is new.
    #[test]
    fn a_row_that_is_gone_leaves_the_bytes_of_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let (all, some) = (rows(&[]), rows(&[100]));
        let share = |by_content: bool| {
            let before = write(dir.path(), &format!("all {by_content}"), &all, by_content);
            let after = write(dir.path(), &format!("some {by_content}"), &some, by_content);
            new_share(&before, &after)
        };
        let (even, by_content) = (share(false), share(true));
        assert!(even > 0.8, "{even}");
        assert!(by_content < 0.3, "{by_content}");
        for by_content in [false, true] {
            let file = File::open(dir.path().join(format!("some {by_content}"))).unwrap();
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
            let read: Vec<RecordBatch> = reader.collect::<Result<_, _>>().unwrap();
            assert_eq!(concat_batches(&some.schema(), &read).unwrap(), some);
        }
    }
}
