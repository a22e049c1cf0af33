//! Reads Arrow stream files, and checks the two JSON files by which `datasets` opens them.

use super::parquet::rows;
use super::table::{TableBatch, guard};
use super::{
    FileLayout, ReadRow, Reader, ShardReadError, malformed, number, read_json, shard_files,
};
use crate::epoch::recipe::ColumnKind;
use crate::model::IoError;
use arrow_ipc::reader::StreamReader;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

const LISTS: [(&str, &str); 4] = [
    ("input_ids", "int32"),
    ("seq_lengths", "int32"),
    ("doc_ids", "int64"),
    ("doc_offsets", "int64"),
];

struct ArrowShard {
    path: PathBuf,
    layout: FileLayout,
    batches: StreamReader<BufReader<File>>,
}

/// Opens shard `shard`.
pub(super) fn open(
    dir: &Path,
    shard: usize,
    layout: &FileLayout,
) -> Result<Box<dyn Reader>, ShardReadError> {
    let names = shard_files(dir, layout, shard);
    let name = match names.as_slice() {
        [name] => name,
        _ => return malformed(dir, format!("has not one file of shard {shard}: {names:?}")),
    };
    check_directory(dir, name, shard, layout)?;
    let path = dir.join(name);
    check_frames(&path)?;
    let file = File::open(&path).map_err(IoError::of("opening", &path))?;
    let batches = match guard(|| StreamReader::try_new(BufReader::new(file), None)) {
        Some(Ok(batches)) => batches,
        Some(Err(error)) => return malformed(&path, error),
        None => return malformed(&path, GAVE_UP),
    };
    let about = batches.schema().metadata().get("huggingface").cloned().unwrap_or_default();
    let about: Value = serde_json::from_str(&about).unwrap_or_default();
    if about != json!({ "info": { "features": features(layout) } }) {
        return malformed(&path, "does not describe its features as datasets does");
    }
    Ok(Box::new(ArrowShard { path, layout: layout.clone(), batches }))
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
        let length = number(length);
        left = left.saturating_sub(8);
        if mark != [0xff; 4] || length > left {
            return malformed(path, "has a message that the file does not hold");
        }
        if length == 0 {
            return if left == 0 { Ok(()) } else { malformed(path, "goes on after its end") };
        }
        let mut message = Vec::new();
        (&mut file).take(length).read_to_end(&mut message).map_err(failed())?;
        left -= length;
        let body = match arrow_ipc::root_as_message(&message) {
            Ok(message) => u64::try_from(message.bodyLength()).unwrap_or(u64::MAX),
            Err(error) => return malformed(path, error),
        };
        let skip = i64::try_from(body).ok().filter(|_| body <= left);
        let Some(skip) = skip else {
            return malformed(path, "has a message whose body the file does not hold");
        };
        file.seek_relative(skip).map_err(failed())?;
        left -= body;
    }
}

const GAVE_UP: &str = "the Arrow decoder gave up";

fn features(layout: &FileLayout) -> Value {
    let value = |kind: &str| json!({ "dtype": kind, "_type": "Value" });
    let list = |(name, kind): &(&str, &str)| {
        ((*name).to_owned(), json!({ "feature": value(kind), "_type": "List" }))
    };
    let mut features: Map<String, Value> = LISTS.iter().map(list).collect();
    for column in &layout.columns {
        let kind = match column.kind() {
            ColumnKind::I8 => "int8",
            ColumnKind::I32 => "int32",
            ColumnKind::F32 => "float32",
        };
        let feature = if column.is_one() { value(kind) } else { list(&(column.name(), kind)).1 };
        features.insert(column.name().to_owned(), feature);
    }
    features.insert("source".to_owned(), value("string"));
    Value::Object(features)
}

/// `state.json` names the files in order; `dataset_info.json` has the features.
fn check_directory(
    dir: &Path,
    name: &str,
    shard: usize,
    layout: &FileLayout,
) -> Result<(), ShardReadError> {
    let path = dir.join("state.json");
    let state = read_json(&path)?;
    let files = state.pointer("/_data_files").and_then(Value::as_array);
    let files = files.map(Vec::as_slice).unwrap_or_default();
    let expected = format!("data-{shard:05}-of-{:05}.arrow", files.len());
    if name != expected || files.get(shard) != Some(&json!({ "filename": expected })) {
        return malformed(&path, format!("does not name {name} as file {shard}"));
    }
    let is_last = shard_files(dir, layout, shard + 1).is_empty();
    if is_last && files.len() != shard + 1 {
        return malformed(&path, format!("names {} files of {}", files.len(), shard + 1));
    }
    if state.pointer("/_fingerprint") != Some(&json!(layout.plan.get(..16))) {
        return malformed(&path, "has not the fingerprint of the plan");
    }
    let path = dir.join("dataset_info.json");
    if read_json(&path)?.pointer("/features") != Some(&features(layout)) {
        return malformed(&path, "has other features than the files");
    }
    Ok(())
}

impl Reader for ArrowShard {
    fn next_rows(&mut self) -> Result<Vec<ReadRow>, ShardReadError> {
        let batch = match guard(|| self.batches.next().transpose()) {
            Some(Ok(batch)) => batch,
            Some(Err(error)) => return malformed(&self.path, error),
            None => return malformed(&self.path, GAVE_UP),
        };
        match batch {
            None => Ok(Vec::new()),
            Some(batch) => rows(&TableBatch::new(&self.path, batch), &self.layout),
        }
    }
}
