//! Readers of written epochs that share no code with the crate: Megatron by its byte table, raw ids by
//! their width, Parquet through the `parquet` crate.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Int8Type, Int32Type, Int64Type, Schema, UInt64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A row as a trainer finds it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub source: String,
    pub ids: Vec<i64>,
    pub lengths: Vec<i64>,
    pub documents: Vec<i64>,
    pub offsets: Vec<i64>,
    /// Of Parquet only.
    pub views: Option<Views>,
}

/// The columns of Parquet rows that follow from the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Views {
    pub labels: Vec<i64>,
    pub loss_mask: Vec<i64>,
    pub position_ids: Vec<i64>,
    pub seq_start_id: Vec<i64>,
}

impl Row {
    /// Tokens that are not pads.
    pub fn real(&self) -> usize {
        self.lengths.iter().sum::<i64>() as usize
    }

    /// (document, offset, ids) of each segment.
    pub fn segments(&self) -> Vec<(u64, usize, &[i64])> {
        let mut at = 0;
        let parts = self.lengths.iter().zip(&self.documents).zip(&self.offsets);
        parts
            .map(|((length, document), offset)| {
                let piece = &self.ids[at..at + *length as usize];
                at += *length as usize;
                (*document as u64, *offset as usize, piece)
            })
            .collect()
    }
}

pub fn manifest(directory: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(directory.join("manifest.json")).unwrap()).unwrap()
}

/// Files of a directory with their bytes, by name.
pub fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect();
    found.sort();
    found
}

/// All rows of a directory, in order, whatever its format.
pub fn rows(directory: &Path) -> Vec<Row> {
    let manifest = manifest(directory);
    match manifest["format"].as_str().unwrap() {
        "parquet" => shards(directory, ".parquet").iter().flat_map(|path| packed(path)).collect(),
        "megatron" => shards(directory, ".bin").iter().flat_map(|path| megatron(path)).collect(),
        "raw" => {
            let width = if manifest["dtype"] == "u16" { 2 } else { 4 };
            shards(directory, ".bin").iter().flat_map(|path| raw(path, width, &manifest)).collect()
        }
        other => panic!("unknown format {other}"),
    }
}

/// Shards numbered from 0 without a gap.
pub fn shards(directory: &Path, suffix: &str) -> Vec<PathBuf> {
    let names: Vec<String> = files(directory)
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name.ends_with(suffix) && !name.contains(".segments."))
        .collect();
    for (number, name) in names.iter().enumerate() {
        assert_eq!(*name, format!("shard-{number:05}{suffix}"));
    }
    assert!(!names.is_empty(), "no shard in {}", directory.display());
    names.iter().map(|name| directory.join(name)).collect()
}

/// An index as the byte table has it.
#[derive(Debug, PartialEq)]
pub struct Index {
    pub code: u8,
    pub lengths: Vec<i32>,
    pub offsets: Vec<i64>,
    pub boundaries: Vec<i64>,
}

/// Offset 0: magic of 9 bytes; 9: u64 version; 17: u8 code; 18: u64 S; 26: u64 D; 34: i32[S]; i64[S]; i64[D].
pub fn index(bytes: &[u8]) -> Index {
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!(&bytes[..9], b"MMIDIDX\0\0");
    assert_eq!(u64_at(9), 1);
    let (sequences, boundaries) = (u64_at(18) as usize, u64_at(26) as usize);
    assert_eq!(bytes.len(), 34 + 12 * sequences + 8 * boundaries, "nothing after the tables");
    let i64s = |at: usize, count: usize| {
        bytes[at..at + 8 * count]
            .chunks_exact(8)
            .map(|value| i64::from_le_bytes(value.try_into().unwrap()))
            .collect()
    };
    Index {
        code: bytes[17],
        lengths: bytes[34..34 + 4 * sequences]
            .chunks_exact(4)
            .map(|value| i32::from_le_bytes(value.try_into().unwrap()))
            .collect(),
        offsets: i64s(34 + 4 * sequences, sequences),
        boundaries: i64s(34 + 12 * sequences, boundaries),
    }
}

fn megatron(bin: &Path) -> Vec<Row> {
    let index = index(&std::fs::read(bin.with_extension("idx")).unwrap());
    let tokens = std::fs::read(bin).unwrap();
    let width = match index.code {
        8 => 2,
        4 => 4,
        code => panic!("type code {code}"),
    };
    // One sequence and one document a row, end to end.
    assert_eq!(index.boundaries, (0..=index.lengths.len() as i64).collect::<Vec<_>>());
    let mut at = 0;
    let mut rows = segments(&bin.with_extension("segments.parquet"));
    assert_eq!(rows.len(), index.lengths.len());
    for ((row, length), offset) in rows.iter_mut().zip(&index.lengths).zip(&index.offsets) {
        assert_eq!(*offset, at as i64);
        let end = at + *length as usize * width;
        row.ids = ids(&tokens[at..end], width, index.code == 4);
        at = end;
    }
    assert_eq!(at, tokens.len(), "no bytes beside the sequences");
    rows
}

fn raw(bin: &Path, width: usize, manifest: &Value) -> Vec<Row> {
    let tokens = std::fs::read(bin).unwrap();
    let fixed = !manifest["recipe"].as_str().unwrap().contains("kind = \"none\"");
    let capacity = manifest["capacity"].as_u64().unwrap() as usize;
    let mut at = 0;
    let mut rows = segments(&bin.with_extension("segments.parquet"));
    for row in &mut rows {
        let end = at + width * if fixed { capacity } else { row.real() };
        row.ids = ids(&tokens[at..end], width, false);
        at = end;
    }
    assert_eq!(at, tokens.len(), "no bytes beside the rows");
    rows
}

fn ids(bytes: &[u8], width: usize, signed: bool) -> Vec<i64> {
    let one = |id: &[u8]| match (width, signed) {
        (2, _) => i64::from(u16::from_le_bytes(id.try_into().unwrap())),
        (_, true) => i64::from(i32::from_le_bytes(id.try_into().unwrap())),
        (_, false) => i64::from(u32::from_le_bytes(id.try_into().unwrap())),
    };
    bytes.chunks_exact(width).map(one).collect()
}

/// Rows of a segment table, without ids; rows are numbered through the epoch.
fn segments(path: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut last: Option<u64> = None;
    for batch in open(path).build().unwrap() {
        let batch = batch.unwrap();
        for number in batch["row"].as_primitive::<UInt64Type>().values() {
            assert!(last.is_none_or(|last| *number == last + 1));
            last = Some(*number);
        }
        rows.extend((0..batch.num_rows()).map(|at| Row {
            source: batch["source"].as_string::<i32>().value(at).to_owned(),
            lengths: list(&batch["seq_lengths"], at),
            documents: list(&batch["doc_ids"], at),
            offsets: list(&batch["doc_offsets"], at),
            ..Row::default()
        }));
    }
    rows
}

fn packed(path: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in open(path).build().unwrap() {
        let batch = batch.unwrap();
        let source = batch["source"].as_string::<i32>();
        rows.extend((0..batch.num_rows()).map(|at| Row {
            source: source.value(at).to_owned(),
            ids: list(&batch["input_ids"], at),
            lengths: list(&batch["seq_lengths"], at),
            documents: list(&batch["doc_ids"], at),
            offsets: list(&batch["doc_offsets"], at),
            views: Some(Views {
                labels: list(&batch["labels"], at),
                loss_mask: list(&batch["loss_mask"], at),
                position_ids: list(&batch["position_ids"], at),
                seq_start_id: list(&batch["seq_start_id"], at),
            }),
        }));
    }
    rows
}

pub fn open(path: &Path) -> ParquetRecordBatchReaderBuilder<std::fs::File> {
    ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap()).unwrap()
}

fn list(column: &dyn Array, at: usize) -> Vec<i64> {
    let values = column.as_list::<i32>().value(at);
    assert_eq!(values.null_count(), 0);
    match values.data_type() {
        DataType::Int8 => {
            values.as_primitive::<Int8Type>().values().iter().map(|v| i64::from(*v)).collect()
        }
        DataType::Int32 => {
            values.as_primitive::<Int32Type>().values().iter().map(|v| i64::from(*v)).collect()
        }
        DataType::Int64 => values.as_primitive::<Int64Type>().values().to_vec(),
        other => panic!("a list of {other}"),
    }
}

/// Names and types of the columns, in the words of docs/EPOCHS.md.
pub fn columns(schema: &Schema) -> Vec<(String, String)> {
    let plain = |kind: &DataType| match kind {
        DataType::Int8 => "i8",
        DataType::Int32 => "i32",
        DataType::Int64 => "i64",
        DataType::UInt64 => "u64",
        DataType::Utf8 => "string",
        other => panic!("unexpected type {other}"),
    };
    let describe = |field: &arrow::datatypes::Field| {
        assert!(!field.is_nullable(), "{} may be null", field.name());
        match field.data_type() {
            DataType::List(value) => {
                assert_eq!((value.name().as_str(), value.is_nullable()), ("element", false));
                format!("list of {}", plain(value.data_type()))
            }
            other => plain(other).to_owned(),
        }
    };
    schema.fields().iter().map(|field| (field.name().clone(), describe(field))).collect()
}
