//! Readers of written epochs that share no code with the crate: Megatron, MDS, litdata and the layouts
//! of raw ids by their byte tables, Parquet and Arrow through their crates, lines as JSON.

pub use super::exports::{files, manifest_path, place_of};
use arrow::array::{Array, AsArray, RecordBatch};
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
    serde_json::from_slice(&std::fs::read(manifest_path(directory)).unwrap()).unwrap()
}

/// All rows of a directory, in order, whatever its format.
pub fn rows(directory: &Path) -> Vec<Row> {
    let manifest = manifest(directory);
    match manifest["format"].as_str().unwrap() {
        "parquet" => shards(directory, ".parquet").iter().flat_map(|path| packed(path)).collect(),
        "megatron" => shards(directory, ".bin").iter().flat_map(|path| megatron(path)).collect(),
        "raw" => match setting(&manifest, "output", "layout").as_deref() {
            None | Some("plain" | "nanogpt") => bare(directory, &manifest, "shard-", ".bin", 0),
            Some("llm.c") => bare(directory, &manifest, "shard-", ".bin", 1024),
            Some("datatrove") => bare(directory, &manifest, "", "_unshuffled.ds", 0),
            Some("olmo") => bare(directory, &manifest, "part-0-", ".npy", 0),
            Some(other) => panic!("unknown layout {other}"),
        },
        "arrow" => arrow_rows(directory),
        "mds" => mds_rows(directory),
        "litdata" => litdata_rows(directory, &manifest),
        "jsonl" => json_rows(directory, &manifest),
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
    // Packed, a row is a document; unpacked, fragments of a document that follow each other are one.
    let unpacked = rows.iter().all(|row| row.lengths.len() == 1 && row.real() == row.ids.len());
    let mut boundaries = vec![0];
    for (at, pair) in rows.windows(2).enumerate() {
        let end = |row: &Row| Some((*row.documents.first()?, row.offsets[0] + row.lengths[0]));
        let start = |row: &Row| Some((*row.documents.first()?, row.offsets[0]));
        let continues = end(&pair[0]) == start(&pair[1]);
        if !(unpacked && continues) {
            boundaries.push(at as i64 + 1);
        }
    }
    boundaries.push(rows.len() as i64);
    let each: Vec<i64> = (0..=rows.len() as i64).collect();
    assert!(index.boundaries == boundaries || (unpacked && index.boundaries == each));
    rows
}

/// A setting of the recipe in a manifest.
pub fn setting(manifest: &Value, table: &str, key: &str) -> Option<String> {
    let recipe: toml::Table = toml::from_str(manifest["recipe"].as_str().unwrap()).unwrap();
    Some(recipe.get(table)?.get(key)?.as_str()?.to_owned())
}

/// Files named PREFIX, a number of five digits, SUFFIX; numbered from 0 without a gap.
pub fn numbered(directory: &Path, prefix: &str, suffix: &str) -> Vec<PathBuf> {
    let paths = (0..).map(|number| directory.join(format!("{prefix}{number:05}{suffix}")));
    let found: Vec<PathBuf> = paths.take_while(|path| path.exists()).collect();
    let all = files(directory)
        .into_iter()
        .filter(|(name, _)| name.starts_with(prefix) && name.ends_with(suffix))
        .count();
    assert!(!found.is_empty() && found.len() == all, "{prefix}*{suffix}: {all}");
    found
}

fn bare(directory: &Path, manifest: &Value, prefix: &str, suffix: &str, skip: usize) -> Vec<Row> {
    let table =
        if suffix.contains('_') { "_unshuffled.segments.parquet" } else { ".segments.parquet" };
    let tokens = numbered(directory, prefix, suffix);
    let tables = numbered(directory, prefix, table);
    assert_eq!(tokens.len(), tables.len());
    tokens.iter().zip(&tables).flat_map(|(ids, table)| raw(ids, table, skip, manifest)).collect()
}

/// Ids end to end from byte `skip`, cut by the segment table.
fn raw(bin: &Path, table: &Path, skip: usize, manifest: &Value) -> Vec<Row> {
    let width = if manifest["dtype"] == "u16" { 2 } else { 4 };
    let tokens = std::fs::read(bin).unwrap();
    let fixed = setting(manifest, "pack", "kind").as_deref() != Some("none");
    let capacity = manifest["capacity"].as_u64().unwrap() as usize;
    let mut at = skip;
    let mut rows = segments(table);
    for row in &mut rows {
        let end = at + width * if fixed { capacity } else { row.real() };
        row.ids = ids(&tokens[at..end], width, manifest["dtype"] == "i32");
        at = end;
    }
    assert_eq!(at, tokens.len(), "no bytes beside the rows");
    rows
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
}

fn litdata_rows(directory: &Path, manifest: &Value) -> Vec<Row> {
    let index: Value =
        serde_json::from_slice(&std::fs::read(directory.join("index.json")).unwrap()).unwrap();
    let mut rows = Vec::new();
    for (at, chunk) in index["chunks"].as_array().unwrap().iter().enumerate() {
        assert_eq!(chunk["filename"], format!("chunk-0-{at}.bin"));
        let path = directory.join(format!("chunk-0-{at}.bin"));
        let bytes = std::fs::read(&path).unwrap();
        let count = number(&bytes[..4]);
        let table = directory.join(format!("chunk-0-{at}.segments.parquet"));
        let found = raw(&path, &table, 4 * (count + 2), manifest);
        assert_eq!(found.len(), count);
        let offsets: Vec<usize> = bytes[4..4 * (count + 2)].chunks(4).map(number).collect();
        let width = if manifest["dtype"] == "u16" { 2 } else { 4 };
        assert_eq!((offsets[0], offsets[count]), (4 * (count + 2), bytes.len()));
        for (row, ends) in found.iter().zip(offsets.windows(2)) {
            assert_eq!(ends[1] - ends[0], row.ids.len() * width);
        }
        assert_eq!(chunk["dim"], found.iter().map(|row| row.ids.len()).sum::<usize>());
        rows.extend(found);
    }
    rows
}

fn mds_rows(directory: &Path) -> Vec<Row> {
    let index: Value =
        serde_json::from_slice(&std::fs::read(directory.join("index.json")).unwrap()).unwrap();
    let mut rows = Vec::new();
    for shard in index["shards"].as_array().unwrap() {
        let part = |part: &str| {
            let name = shard[part]["basename"].as_str().unwrap();
            let bytes = std::fs::read(directory.join(name)).unwrap();
            assert!(part == "raw_data" || shard["raw_data"]["basename"] == name[..name.len() - 5]);
            assert_eq!(shard[part]["bytes"], bytes.len());
            bytes
        };
        let bytes = match shard["compression"].as_str() {
            Some("zstd") => zstd::decode_all(&part("zip_data")[..]).unwrap(),
            _ => part("raw_data"),
        };
        let width = match shard["column_encodings"][4].as_str() {
            Some("ndarray:uint16") => 2,
            _ => 4,
        };
        let count = number(&bytes[..4]);
        assert_eq!(shard["samples"], count);
        assert_eq!(shard["raw_data"]["bytes"], bytes.len());
        let offsets: Vec<usize> = bytes[4..4 * (count + 2)].chunks(4).map(number).collect();
        assert_eq!(offsets[count], bytes.len());
        for ends in offsets.windows(2) {
            let sample = &bytes[ends[0]..ends[1]];
            let mut at = 20;
            let columns: Vec<&[u8]> = (0..5)
                .map(|column| {
                    let size = number(&sample[4 * column..4 * column + 4]);
                    at += size;
                    &sample[at - size..at]
                })
                .collect();
            assert_eq!(at, sample.len());
            // One dimension; the first byte says how many bytes its length has.
            let array = |bytes: &[u8], width: usize| -> Vec<i64> {
                let size = 1 << (bytes[0] - 4);
                let values = &bytes[1 + size..];
                assert_eq!(number(&bytes[1..1 + size]) * width, values.len());
                values.chunks(width).map(|value| number(value) as i64).collect()
            };
            rows.push(Row {
                documents: array(columns[0], 8),
                offsets: array(columns[1], 8),
                lengths: array(columns[2], 4),
                source: String::from_utf8(columns[3].to_vec()).unwrap(),
                ids: array(columns[4], width),
                views: None,
            });
        }
    }
    rows
}

fn json_rows(directory: &Path, manifest: &Value) -> Vec<Row> {
    let packed = setting(manifest, "output", "compression").as_deref() == Some("zstd");
    let paths = numbered(directory, "shard-", if packed { ".jsonl.zst" } else { ".jsonl" });
    let mut rows = Vec::new();
    for path in paths {
        let bytes = std::fs::read(path).unwrap();
        let bytes = if packed { zstd::decode_all(&*bytes).unwrap() } else { bytes };
        for line in String::from_utf8(bytes).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let list = |name: &str| -> Vec<i64> {
                line[name].as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect()
            };
            let row = Row {
                source: line["source"].as_str().unwrap().to_owned(),
                ids: list("input_ids"),
                lengths: list("seq_lengths"),
                documents: list("doc_ids"),
                offsets: list("doc_offsets"),
                views: None,
            };
            let mut labels = vec![-100; row.ids.len()];
            let mut at = 0;
            for length in &row.lengths {
                let end = at + *length as usize;
                labels[at + 1..end].copy_from_slice(&row.ids[at + 1..end]);
                at = end;
            }
            assert_eq!(list("labels"), labels);
            rows.push(row);
        }
    }
    rows
}

fn arrow_rows(directory: &Path) -> Vec<Row> {
    let state: Value =
        serde_json::from_slice(&std::fs::read(directory.join("state.json")).unwrap()).unwrap();
    let names = state["_data_files"].as_array().unwrap();
    let mut rows = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let name = name["filename"].as_str().unwrap();
        assert_eq!(name, format!("data-{at:05}-of-{:05}.arrow", names.len()));
        let file = std::fs::File::open(directory.join(name)).unwrap();
        for batch in arrow_ipc::reader::StreamReader::try_new(file, None).unwrap() {
            rows.extend(packed_rows(&batch.unwrap()));
        }
    }
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
    let batches = open(path).build().unwrap();
    batches.flat_map(|batch| packed_rows(&batch.unwrap())).collect()
}

/// The rows of a batch of all columns.
fn packed_rows(batch: &RecordBatch) -> Vec<Row> {
    let source = batch["source"].as_string::<i32>();
    let row = |at| Row {
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
    };
    (0..batch.num_rows()).map(row).collect()
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

/// Names and types of the columns, in the words of docs/reference/outputs.md.
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
