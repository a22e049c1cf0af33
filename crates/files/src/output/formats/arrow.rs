//! Arrow IPC files and streams, a record batch a group: of documents, answers, and rows of epochs, which are read back.
//!
//! A file has a footer. An epoch is a directory that `datasets.load_from_disk` opens: Arrow stream files,
//! `dataset_info.json`, `state.json`. The columns are those of Parquet shards, with lists as `datasets` has them:
//! values named `item` that may be null. File names tell the number of shards, so they are given when all are there.

use super::parquet::{DEFAULT_COLUMNS, guarded, signed_columns, signed_fields, table_columns};
use super::spelling::python_json;
use crate::output::compression::{FileOutput, OutputCompression};
use crate::output::destination::FileRename;
use crate::output::error::WriteError;
use crate::output::files::{HashedFile, ManifestFile, write_whole};
use crate::output::format::{
    EncodedGroup, FileSpec, GroupContent, OutputFormat, ShardFile, TableColumns, TableFormat,
    whole_column,
};
use crate::output::row_format::{
    DirectoryReader, EncodedRows, RowFormat, RowShard, RowSpec, ShardDirectory, ShardReadError,
    ShardReader, damaged, little_endian, or_damaged,
};
use crate::output::rows::{BatchColumn, RowColumn};
use crate::output::token_batch::TokenBatch;
use ::arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, LargeStringArray, LargeStringBuilder, ListArray,
    RecordBatch, RecordBatchOptions, StringViewArray, UInt64Array, make_array,
};
use ::arrow::compute::take;
use ::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use ::arrow::error::ArrowError;
use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use model::IoError;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
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

pub(super) struct Arrow;

impl TableFormat for Arrow {
    fn check(&self, _: &FileSpec) -> Result<(), WriteError> {
        Ok(())
    }

    fn encode(&self, spec: &FileSpec, rows: &[RecordBatch]) -> Result<EncodedGroup, WriteError> {
        let rows = one_batch(&spec.schema, rows);
        let rows = rows.map_err(|error| WriteError::Bug(error.to_string()))?;
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
        let writer = writer.map_err(failed(path.as_deref()))?;
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
        written.map_err(failed(self.path.as_deref()))
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
        Ok(out.map_err(failed(path.as_deref()))?.finish(rows)?.into_iter().collect())
    }
}

/// The rows of a group as one batch, in arrays of their own: what is written are buffers, and those of views, of slices
/// of bits, and bits behind the last row have what stood beside the rows.
fn one_batch(schema: &SchemaRef, rows: &[RecordBatch]) -> Result<RecordBatch, ArrowError> {
    let count = rows.iter().map(RecordBatch::num_rows).sum();
    let all = UInt64Array::from_iter_values(0..count as u64);
    let column = |(at, field): (usize, &FieldRef)| {
        let views = rows.iter().map(|rows| rows.columns().get(at)?.as_string_view_opt());
        if *field.data_type() == DataType::LargeUtf8
            && let Some(views) = views.collect()
        {
            return Ok(Arc::new(large_texts(views)) as ArrayRef);
        }
        let column = whole_column(rows, at, field.data_type())?;
        match column.data_type() {
            // The writer copies what a slice has of texts, and nothing else of them.
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary
                if column.nulls().is_none() =>
            {
                Ok(column)
            }
            _ => without_shared(&take(&column, &all, None)?),
        }
    };
    let columns = schema.fields().iter().enumerate().map(column).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

/// Texts end to end, which were views.
fn large_texts(views: Vec<&StringViewArray>) -> LargeStringArray {
    let rows = views.iter().map(|views| views.len()).sum();
    let bytes = views.iter().flat_map(|views| views.lengths()).map(|bytes| bytes as usize).sum();
    let mut texts = LargeStringBuilder::with_capacity(rows, bytes);
    views.into_iter().flatten().for_each(|text| texts.append_option(text));
    texts.finish()
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

fn failed(path: Option<&Path>) -> impl FnOnce(ArrowError) -> WriteError + use<> {
    let failed = WriteError::of_output("writing", path);
    move |error| {
        failed(match error {
            ArrowError::IoError(_, error) => error,
            other => io::Error::other(other),
        })
    }
}

const STATE: &str = "state.json";
const INFO: &str = "dataset_info.json";

/// The name of a shard of so many.
fn last_name(shard: usize, shards: usize) -> String {
    format!("data-{shard:05}-of-{shards:05}.arrow")
}

impl RowFormat for Arrow {
    fn default_columns(&self, _has_loss_masks: bool) -> Option<&'static [RowColumn]> {
        Some(DEFAULT_COLUMNS)
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
        let file = HashedFile::create(dir, &format!("data-{number:05}.arrow"))?;
        let path = file.path().to_path_buf();
        let schema = schema(spec);
        let writer = StreamWriter::try_new(file, &schema).map_err(failed(Some(&path)))?;
        Ok(Box::new(ArrowRowShard { path, schema, writer, rows: 0, largest: 0 }))
    }

    fn renames(&self, shards: &[Vec<ManifestFile>]) -> Vec<FileRename> {
        let files: Vec<&ManifestFile> = shards.iter().flatten().collect();
        let named = files.iter().enumerate();
        let renamed = named.map(|(number, file)| FileRename {
            from: file.name.clone(),
            to: last_name(number, files.len()),
        });
        renamed.collect()
    }

    fn conclude(
        &self,
        spec: &RowSpec,
        dir: &Path,
        shards: Vec<Vec<ManifestFile>>,
    ) -> Result<Vec<ManifestFile>, WriteError> {
        let renames = self.renames(&shards);
        let mut files = shards.concat();
        for (file, rename) in files.iter_mut().zip(renames) {
            file.name = rename.to;
        }
        let names: Vec<Value> = files.iter().map(|file| json!({ "filename": file.name })).collect();
        let state = json!({
            "_data_files": names,
            "_fingerprint": spec.plan.get(..16).unwrap_or_default(),
            "_format_columns": null,
            "_format_kwargs": {},
            "_format_type": null,
            "_output_all_columns": false,
            "_split": null,
        });
        let info = json!({
            "citation": "", "description": "", "features": features(spec), "homepage": "", "license": "",
        });
        for (name, value) in [(STATE, state), (INFO, info)] {
            // Indented as Python does it, but for empty objects; there is one.
            let text = format!("{value:#}");
            files.push(write_whole(dir, name, text.as_bytes(), 0)?);
        }
        Ok(files)
    }

    fn open(&self, spec: &RowSpec, dir: &Path) -> Result<Box<dyn DirectoryReader>, ShardReadError> {
        Ok(Box::new(ArrowDirectory::open(ShardDirectory::list(dir, spec)?)?))
    }
}

/// A shard under way: a record batch a group.
struct ArrowRowShard {
    path: PathBuf,
    schema: SchemaRef,
    writer: StreamWriter<HashedFile>,
    rows: u64,
    /// Bytes of the largest batch so far: what the next one is expected to take.
    largest: u64,
}

impl RowShard for ArrowRowShard {
    fn append(&mut self, group: EncodedRows) -> Result<(), WriteError> {
        let columns = signed_columns(&group.rows).into_iter().map(as_datasets).collect();
        let before = self.writer.get_ref().bytes();
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .and_then(|batch| self.writer.write(&batch))
            .map_err(failed(Some(&self.path)))?;
        self.rows += group.rows.len() as u64;
        self.largest = self.largest.max(self.writer.get_ref().bytes() - before);
        Ok(())
    }

    fn is_full(&self, limit: u64) -> bool {
        self.writer.get_ref().bytes() + self.largest > limit
    }

    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, WriteError> {
        // Ends the stream.
        let file = self.writer.into_inner().map_err(failed(Some(&self.path)))?;
        Ok(vec![file.finish(self.rows)?])
    }
}

/// The field that `datasets` has for a field of Parquet shards.
fn datasets_field(field: &Field) -> Field {
    match field.data_type() {
        DataType::List(values) => {
            let item = Field::new("item", values.data_type().clone(), true);
            Field::new(field.name(), DataType::List(Arc::new(item)), true)
        }
        other => Field::new(field.name(), other.clone(), true),
    }
}

fn as_datasets(column: ArrayRef) -> ArrayRef {
    let Some(lists) = column.as_list_opt::<i32>() else { return column };
    let item = Arc::new(Field::new("item", lists.value_type(), true));
    let (_, offsets, values, nulls) = lists.clone().into_parts();
    Arc::new(ListArray::new(item, offsets, values, nulls))
}

fn schema(spec: &RowSpec) -> SchemaRef {
    let metadata = [("huggingface".to_owned(), python_json(&self_description(spec)))];
    let fields = signed_fields(&table_columns(spec));
    let fields: Vec<Field> = fields.iter().map(datasets_field).collect();
    Arc::new(Schema::new_with_metadata(fields, metadata.into()))
}

/// What each file says of itself.
fn self_description(spec: &RowSpec) -> Value {
    json!({ "info": { "features": features(spec) } })
}

/// The features of a dataset, as `datasets` describes them.
fn features(spec: &RowSpec) -> Value {
    let value = |kind: &DataType| {
        let name = match kind {
            DataType::Utf8 => "string".to_owned(),
            other => other.to_string().to_lowercase(),
        };
        json!({ "dtype": name, "_type": "Value" })
    };
    let feature = |field: &Field| match field.data_type() {
        DataType::List(values) => json!({ "feature": value(values.data_type()), "_type": "List" }),
        other => value(other),
    };
    let fields = signed_fields(&table_columns(spec));
    let named = fields.iter().map(|field| (field.name().clone(), feature(field)));
    Value::Object(named.collect::<Map<_, _>>())
}

/// A directory whose two JSON files were read and found right.
struct ArrowDirectory {
    dir: ShardDirectory,
    /// Shards that `state.json` names.
    shards: usize,
}

impl ArrowDirectory {
    fn open(dir: ShardDirectory) -> Result<Self, ShardReadError> {
        let path = dir.path.join(STATE);
        let state = dir.json(STATE)?;
        let files = state.pointer("/_data_files").and_then(Value::as_array);
        let files = files.map(Vec::as_slice).unwrap_or_default();
        let shards = files.len();
        for (shard, file) in files.iter().enumerate() {
            let expected = last_name(shard, shards);
            if *file != json!({ "filename": expected }) {
                return damaged(&path, format!("does not name {expected} as file {shard}"));
            }
        }
        let there = dir.beginning("data-").filter(|name| name.ends_with(".arrow")).count();
        if there != shards {
            return damaged(&path, format!("names {shards} files of {there}"));
        }
        if state.pointer("/_fingerprint") != Some(&json!(dir.spec.plan.get(..16))) {
            return damaged(&path, "has not the fingerprint of the plan");
        }
        if dir.json(INFO)?.pointer("/features") != Some(&features(&dir.spec)) {
            return damaged(&dir.path.join(INFO), "has other features than the files");
        }
        Ok(Self { dir, shards })
    }
}

impl DirectoryReader for ArrowDirectory {
    fn shard_files(&self, shard: usize) -> Vec<String> {
        let prefix = format!("data-{shard:05}-of-");
        let names = self.dir.beginning(&prefix).filter(|name| name.ends_with(".arrow"));
        names.cloned().collect()
    }

    fn open_shard(&self, shard: usize) -> Result<Box<dyn ShardReader>, ShardReadError> {
        let name = last_name(shard, self.shards);
        let names = self.shard_files(shard);
        if names != [name.as_str()] {
            let why = format!("has not one file {name} of shard {shard}: {names:?}");
            return damaged(&self.dir.path, why);
        }
        let path = self.dir.path.join(name);
        check_frames(&path)?;
        let file = File::open(&path).map_err(IoError::of("opening", &path))?;
        let batches = guarded(&path, || StreamReader::try_new(BufReader::new(file), None))?;
        let about = batches.schema().metadata().get("huggingface").cloned().unwrap_or_default();
        let about: Value = serde_json::from_str(&about).unwrap_or_default();
        if about != self_description(&self.dir.spec) {
            return damaged(&path, "does not describe its features as datasets does");
        }
        let columns = table_columns(&self.dir.spec);
        Ok(Box::new(ArrowRowReader { path, columns, batches }))
    }
}

/// Every message and its body lie within the file: the decoder makes room for what a message claims.
fn check_frames(path: &Path) -> Result<(), ShardReadError> {
    let failed = || IoError::of("reading", path);
    let mut file = BufReader::new(File::open(path).map_err(failed())?);
    let mut left = file.get_ref().metadata().map_err(failed())?.len();
    loop {
        let mut prefix = Vec::new();
        (&mut file).take(8).read_to_end(&mut prefix).map_err(failed())?;
        let (mark, length) = prefix.split_at_checked(4).unwrap_or_default();
        let length = little_endian(length);
        left = left.saturating_sub(8);
        if mark != [0xff; 4] || length > left {
            return damaged(path, "has a message that the file does not hold");
        }
        if length == 0 {
            return if left == 0 { Ok(()) } else { damaged(path, "goes on after its end") };
        }
        let mut message = Vec::new();
        (&mut file).take(length).read_to_end(&mut message).map_err(failed())?;
        left -= length;
        let body = match arrow_ipc::root_as_message(&message) {
            Ok(message) => u64::try_from(message.bodyLength()).unwrap_or(u64::MAX),
            Err(error) => return damaged(path, error),
        };
        let skip = i64::try_from(body).ok().filter(|_| body <= left);
        let Some(skip) = skip else {
            return damaged(path, "has a message whose body the file does not hold");
        };
        file.seek_relative(skip).map_err(failed())?;
        left -= body;
    }
}

/// The rows of a shard.
struct ArrowRowReader {
    path: PathBuf,
    columns: Vec<BatchColumn>,
    batches: StreamReader<BufReader<File>>,
}

impl ShardReader for ArrowRowReader {
    fn next_batch(&mut self) -> Result<Option<TokenBatch>, ShardReadError> {
        let Some(batch) = guarded(&self.path, || self.batches.next().transpose())? else {
            return Ok(None);
        };
        or_damaged(&self.path, TokenBatch::new(&batch, &self.columns)).map(Some)
    }
}
