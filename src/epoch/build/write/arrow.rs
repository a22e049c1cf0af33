//! A directory that `datasets.load_from_disk` opens: Arrow stream files, `dataset_info.json`, `state.json`.
//!
//! The columns are those of Parquet shards, with lists as `datasets` has them: values named `item`
//! that may be null. File names tell the number of shards, so they are given when all are there.

use super::json::python;
use super::parquet::{columns, fields};
use super::{Options, Shard, ShardFormat};
use crate::epoch::build::ManifestFile;
use crate::epoch::error::EpochError;
use crate::epoch::fetch::FilledRow;
use crate::model::IoError;
use crate::output::{FileRename, HashedFile, write_whole};
use ::arrow::array::{ArrayRef, AsArray, ListArray, RecordBatch};
use ::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use ::arrow::error::ArrowError;
use arrow_ipc::writer::StreamWriter;
use serde_json::{Map, Value, json};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Arrow(Options);

pub(super) fn format(options: Options) -> impl ShardFormat {
    Arrow(options)
}

impl ShardFormat for Arrow {
    fn weigh(&self, _: &FilledRow) -> u64 {
        0
    }

    fn open(&self, number: u32, _: u64) -> Result<Box<dyn Shard>, EpochError> {
        let options = self.0.clone();
        let file = HashedFile::create(&options.dir, &format!("data-{number:05}.arrow"))?;
        let path = file.path().to_path_buf();
        let schema = schema(&options);
        let writer = StreamWriter::try_new(file, &schema).map_err(failed(&path))?;
        Ok(Box::new(ArrowShard { options, path, schema, writer, rows: 0, largest: 0 }))
    }

    fn renames(&self, shards: &[Vec<ManifestFile>]) -> Vec<FileRename> {
        let files: Vec<&ManifestFile> = shards.iter().flatten().collect();
        let last = |number| format!("data-{number:05}-of-{:05}.arrow", files.len());
        let named = files.iter().enumerate();
        named
            .map(|(number, file)| FileRename { from: file.name.clone(), to: last(number) })
            .collect()
    }

    fn conclude(&self, shards: Vec<Vec<ManifestFile>>) -> Result<Vec<ManifestFile>, EpochError> {
        let dir = &self.0.dir;
        let renames = self.renames(&shards);
        let mut files = shards.concat();
        for (file, rename) in files.iter_mut().zip(renames) {
            file.name = rename.to;
        }
        let names: Vec<Value> = files.iter().map(|file| json!({ "filename": file.name })).collect();
        let state = json!({
            "_data_files": names,
            "_fingerprint": self.0.plan.get(..16).unwrap_or_default(),
            "_format_columns": null,
            "_format_kwargs": {},
            "_format_type": null,
            "_output_all_columns": false,
            "_split": null,
        });
        let info = json!({
            "citation": "", "description": "", "features": features(&self.0), "homepage": "", "license": "",
        });
        for (name, value) in [("state.json", state), ("dataset_info.json", info)] {
            // Indented as Python does it, but for empty objects; there is one.
            let text = format!("{value:#}");
            files.push(write_whole(dir, name, text.as_bytes(), 0)?);
        }
        Ok(files)
    }
}

/// A shard under way: a record batch a group.
struct ArrowShard {
    options: Options,
    path: PathBuf,
    schema: SchemaRef,
    writer: StreamWriter<HashedFile>,
    rows: u64,
    /// Bytes of the largest batch so far: what the next one is expected to take.
    largest: u64,
}

impl Shard for ArrowShard {
    fn append(&mut self, rows: &[FilledRow]) -> Result<(), EpochError> {
        let columns: Vec<ArrayRef> = columns(&rows.iter().collect::<Vec<_>>(), &self.options)?
            .into_iter()
            .map(as_datasets)
            .collect();
        let before = self.writer.get_ref().bytes();
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .and_then(|batch| self.writer.write(&batch))
            .map_err(failed(&self.path))?;
        self.rows += rows.len() as u64;
        self.largest = self.largest.max(self.writer.get_ref().bytes() - before);
        Ok(())
    }

    fn is_full(&self, limit: u64) -> bool {
        self.writer.get_ref().bytes() + self.largest > limit
    }

    fn finish(self: Box<Self>) -> Result<Vec<ManifestFile>, EpochError> {
        // Ends the stream.
        let file = self.writer.into_inner().map_err(failed(&self.path))?;
        Ok(vec![file.finish(self.rows)?])
    }
}

fn failed(path: &Path) -> impl FnOnce(ArrowError) -> IoError {
    let convert = |error| match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    };
    let fail = IoError::of("writing", path);
    move |error| fail(convert(error))
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

fn schema(options: &Options) -> SchemaRef {
    let about = json!({ "info": { "features": features(options) } });
    let metadata = [("huggingface".to_owned(), python(&about))];
    let fields: Vec<Field> = fields(options).iter().map(datasets_field).collect();
    Arc::new(Schema::new_with_metadata(fields, metadata.into()))
}

/// The features of a dataset, as `datasets` describes them.
fn features(options: &Options) -> Value {
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
    Value::Object(
        fields(options)
            .iter()
            .map(|field| (field.name().clone(), feature(field)))
            .collect::<Map<_, _>>(),
    )
}
