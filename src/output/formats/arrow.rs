//! Arrow IPC: files with a footer, and streams; a record batch a group.

use crate::output::compression::{FileOutput, OutputCompression};
use crate::output::error::WriteError;
use crate::output::files::ManifestFile;
use crate::output::format::{
    EncodedGroup, FileSpec, GroupContent, OutputFormat, ShardFile, TableColumns, TableFormat,
    one_batch,
};
use ::arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, RecordBatch, RecordBatchOptions, StringViewArray,
    UInt64Array, make_array,
};
use ::arrow::compute::take;
use ::arrow::datatypes::DataType;
use ::arrow::error::ArrowError;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

pub(super) static ARROW: OutputFormat = OutputFormat {
    name: "arrow",
    about: "The Arrow IPC file format; on a stream, the stream format",
    endings: &["arrow", "feather"],
    compressions: &[OutputCompression::None, OutputCompression::Zstd, OutputCompression::Lz4],
    default_compression: OutputCompression::None,
    is_compressed_whole: false,
    streams: true,
    columns: TableColumns::Typed,
    loss: None,
    table: Some(&Arrow),
};

struct Arrow;

impl TableFormat for Arrow {
    fn check(&self, _: &FileSpec) -> Result<(), WriteError> {
        Ok(())
    }

    fn encode(&self, spec: &FileSpec, rows: &[RecordBatch]) -> Result<EncodedGroup, WriteError> {
        let rows = compact(&one_batch(&spec.schema, rows)?)
            .map_err(|error| WriteError::Bug(error.to_string()))?;
        let count = rows.num_rows() as u64;
        Ok(EncodedGroup { rows: count, lost: Vec::new(), content: GroupContent::Batch(rows) })
    }

    fn create<'a>(
        &self,
        spec: &FileSpec,
        out: FileOutput<'a>,
    ) -> Result<Box<dyn ShardFile + 'a>, WriteError> {
        let (path, schema) = (out.path().map(PathBuf::from), &spec.schema);
        let compression = match spec.compression {
            OutputCompression::Zstd => Some(CompressionType::ZSTD),
            OutputCompression::Lz4 => Some(CompressionType::LZ4_FRAME),
            _ => None,
        };
        let writer =
            IpcWriteOptions::default().try_with_compression(compression).and_then(|options| {
                match out {
                    FileOutput::File(_) => FileWriter::try_new_with_options(out, schema, options)
                        .map(|writer| Writer::File(Box::new(writer))),
                    FileOutput::Stream { .. } => {
                        StreamWriter::try_new_with_options(out, schema, options)
                            .map(|writer| Writer::Stream(Box::new(writer)))
                    }
                }
            });
        let writer = writer.map_err(failed(&path))?;
        Ok(Box::new(ArrowFile { path, rows: 0, writer }))
    }
}

/// A file or a stream under way.
struct ArrowFile<'a> {
    path: Option<PathBuf>,
    rows: u64,
    writer: Writer<'a>,
}

enum Writer<'a> {
    File(Box<FileWriter<FileOutput<'a>>>),
    Stream(Box<StreamWriter<FileOutput<'a>>>),
}

impl ShardFile for ArrowFile<'_> {
    fn append(&mut self, group: EncodedGroup) -> Result<(), WriteError> {
        let GroupContent::Batch(rows) = group.content else {
            return Err(EncodedGroup::mismatch());
        };
        if group.rows == 0 {
            return Ok(());
        }
        self.rows += group.rows;
        let written = match &mut self.writer {
            Writer::File(writer) => writer.write(&rows),
            Writer::Stream(writer) => writer.write(&rows),
        };
        written.map_err(failed(&self.path))
    }

    fn bytes(&self) -> u64 {
        match &self.writer {
            Writer::File(writer) => writer.get_ref().bytes(),
            Writer::Stream(writer) => writer.get_ref().bytes(),
        }
    }

    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, WriteError> {
        let Self { path, rows, writer } = *self;
        let out = match writer {
            Writer::File(writer) => writer.into_inner(),
            Writer::Stream(writer) => writer.into_inner(),
        };
        Ok(out.map_err(failed(&path))?.finish(rows)?.into_iter().collect())
    }
}

/// The same rows in arrays of their own: what is written are buffers, and those of a slice, of views, and bits behind the
/// last row have what stood beside the rows.
fn compact(rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let all = UInt64Array::from_iter_values(0..rows.num_rows() as u64);
    let columns = rows.columns().iter().map(|column| without_shared(&take(column, &all, None)?));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(rows.schema(), columns, &options)
}

/// An array whose views, at any depth, show bytes of its own alone, in their order.
fn without_shared(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Utf8View => {
            return Ok(Arc::new(array.as_string_view().iter().collect::<StringViewArray>()));
        }
        DataType::BinaryView => {
            return Ok(Arc::new(array.as_binary_view().iter().collect::<BinaryViewArray>()));
        }
        _ => {}
    }
    let data = array.to_data();
    if data.child_data().is_empty() {
        return Ok(Arc::clone(array));
    }
    let children = data
        .child_data()
        .iter()
        .map(|child| Ok(without_shared(&make_array(child.clone()))?.to_data()));
    let children = children.collect::<Result<Vec<_>, ArrowError>>()?;
    Ok(make_array(data.into_builder().child_data(children).build()?))
}

fn failed(path: &Option<PathBuf>) -> impl FnOnce(ArrowError) -> WriteError {
    let failed = WriteError::of_output("writing", path.as_deref());
    move |error| {
        failed(match error {
            ArrowError::IoError(_, error) => error,
            other => io::Error::other(other),
        })
    }
}
