//! A corpus that is exported, and the rows of what was written.

use crate::support::{Page, TestDir, corpusdb, ingest, init, json_lines, lines};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Fields that the corpora of these tests declare.
pub const FIELDS: [&str; 6] =
    ["--field", "url:keyword", "--field", "quality:float", "--field", "year:int"];

/// A corpus of these pages under the source `web`.
pub fn corpus(scratch: &TestDir, name: &str, pages: &[Page]) -> String {
    let corpus = scratch.arg(name);
    init(&corpus, &FIELDS);
    let file = scratch.write(&format!("{name}.jsonl"), lines(pages));
    ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
    corpus
}

/// `export CORPUS --to TO --json` with further arguments; the report.
#[track_caller]
pub fn export(corpus: &str, to: &str, more: &[&str]) -> Value {
    corpusdb(&[&["export", corpus, "--to", to, "--json"], more].concat()).good().json()
}

/// Rows of a file as objects, read by another reader than ours.
#[track_caller]
pub fn rows(path: &Path) -> Vec<Value> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let bytes = || std::fs::read(path).unwrap();
    if name.ends_with(".parquet") {
        let file = File::open(path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        return reader.flat_map(|batch| of_batch(&batch.unwrap())).collect();
    }
    if name.ends_with(".arrow") {
        let reader = arrow_ipc::reader::FileReader::try_new(File::open(path).unwrap(), None);
        return reader.unwrap().flat_map(|batch| of_batch(&batch.unwrap())).collect();
    }
    let text = if name.ends_with(".zst") {
        zstd::decode_all(bytes().as_slice()).unwrap()
    } else if name.ends_with(".gz") {
        let mut text = Vec::new();
        let mut decoder = flate2::read::GzDecoder::new(File::open(path).unwrap());
        std::io::Read::read_to_end(&mut decoder, &mut text).unwrap();
        text
    } else {
        bytes()
    };
    json_lines(&String::from_utf8(text).unwrap())
}

/// Rows of a batch as objects; `meta` parsed.
pub fn of_batch(batch: &RecordBatch) -> Vec<Value> {
    let schema = batch.schema();
    let value = |column: &dyn Array, row: usize| -> Value {
        if column.is_null(row) {
            return Value::Null;
        }
        match column.data_type() {
            DataType::Utf8 => json!(column.as_string::<i32>().value(row)),
            DataType::LargeUtf8 => json!(column.as_string::<i64>().value(row)),
            DataType::UInt64 => json!(column.as_primitive::<UInt64Type>().value(row)),
            DataType::Int64 => json!(column.as_primitive::<Int64Type>().value(row)),
            DataType::Float64 => json!(column.as_primitive::<Float64Type>().value(row)),
            DataType::Boolean => json!(column.as_boolean().value(row)),
            other => panic!("a column of {other}"),
        }
    };
    let row = |row: usize| {
        let fields = schema.fields().iter().zip(batch.columns());
        let fields = fields.map(|(field, column)| (field.name().clone(), value(column, row)));
        Value::Object(fields.collect::<Map<_, _>>())
    };
    (0..batch.num_rows()).map(row).collect()
}

/// What SQL answers, an object a row.
#[track_caller]
/// Every file below a directory with its bytes, by its path there; the manifest that stands beside it, as
/// `manifest.json`.
pub fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(inside) = waiting.pop() {
        for entry in std::fs::read_dir(directory.join(&inside)).unwrap() {
            let path = inside.join(entry.unwrap().file_name());
            if directory.join(&path).is_dir() {
                waiting.push(path);
            } else if path.as_os_str() != "manifest.json" {
                let bytes = std::fs::read(directory.join(&path)).unwrap();
                found.push((path.to_str().unwrap().to_owned(), bytes));
            }
        }
    }
    if let Ok(manifest) = std::fs::read(manifest_path(directory)) {
        found.push(("manifest.json".to_owned(), manifest));
    }
    found.sort();
    found
}

/// Where the manifest of a directory stands: in it, or beside it.
pub fn manifest_path(directory: &Path) -> PathBuf {
    let inside = directory.join("manifest.json");
    if inside.exists() {
        return inside;
    }
    let name = directory.file_name().unwrap().to_str().unwrap();
    directory.with_file_name(format!(".{name}.manifest.json"))
}

/// Where a file of a directory stands, by its name in [`files`].
pub fn place_of(directory: &Path, name: &str) -> PathBuf {
    if name == "manifest.json" { manifest_path(directory) } else { directory.join(name) }
}

/// Names in a directory.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
