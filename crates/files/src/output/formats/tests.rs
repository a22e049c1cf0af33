//! Tests of the law of the formats: what is read back is what was written, however the rows came.

use super::FORMATS;
use crate::output::{
    FileSpec, FormatName, GroupSize, HashedFile, ManifestFile, OutputCompression, OutputFormat,
    PositionedRows, ShardOutcome, ShardWriter, WriteError,
};
use ::arrow::array::{
    ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray, TimestampMicrosecondArray, UInt64Array,
};
use ::arrow::compute::{cast, concat_batches};
use ::arrow::datatypes::{DataType, SchemaRef};
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

const SEPARATOR: &str = "<|end|>\n";
const GROUP: GroupSize = GroupSize { rows: 1000, bytes: 1 << 20 };

/// Texts that writers and readers stumble over.
fn odd_text(at: usize) -> Option<String> {
    let texts = [
        "plain words",
        "",
        "NUL \0 inside",
        "a bare \r return",
        "lines\r\nand\nlines\n",
        " spaces, \"quotes\" and \\ ",
        "\u{85} \u{2028} \u{2029} é 日本 👩‍👩‍👧‍👦",
        "null",
        "\"",
        "\u{1}\u{1b}[31m\u{7f}",
    ];
    match at % (texts.len() + 2) {
        10 => None,
        11 if at % 24 == 11 => Some("a long cell ".repeat(20_000)),
        other => Some(texts.get(other).copied().unwrap_or("x").to_owned()),
    }
}

/// Makes `rows` rows with every type that documents have.
fn odd_rows(rows: usize) -> RecordBatch {
    let some = |at: usize, null: usize| !at.is_multiple_of(null);
    let floats =
        [0.1, -1e300, 1e10, 12_345_678_905.5, 1e-7, 0.0, -0.0, 1.0 / 3.0, f64::MAX, 5e-324];
    let columns: Vec<(&str, ArrayRef)> = vec![
        // Long cells only in few rows: 70,000 rows of them would be gigabytes.
        (
            "text",
            Arc::new(
                (0..rows)
                    .map(|at| odd_text(if at < 100 { at } else { at % 10 }))
                    .collect::<LargeStringArray>(),
            ),
        ),
        (
            "key",
            Arc::new(
                (0..rows)
                    .map(|at| odd_text(at * 7 % 10).filter(|_| some(at, 5)))
                    .collect::<StringArray>(),
            ),
        ),
        (
            "n",
            Arc::new(
                (0..rows)
                    .map(|at| some(at, 4).then_some(i64::MIN + at as i64))
                    .collect::<Int64Array>(),
            ),
        ),
        (
            "u",
            Arc::new(
                (0..rows)
                    .map(|at| some(at, 6).then_some(u64::MAX - at as u64))
                    .collect::<UInt64Array>(),
            ),
        ),
        (
            "f",
            Arc::new(
                (0..rows).map(|at| some(at, 7).then(|| floats[at % 10])).collect::<Float64Array>(),
            ),
        ),
        (
            "b",
            Arc::new(
                (0..rows).map(|at| some(at, 3).then_some(at % 2 == 0)).collect::<BooleanArray>(),
            ),
        ),
        (
            "t",
            Arc::new(
                (0..rows)
                    .map(|at| some(at, 8).then_some(at as i64 * 999_999_937))
                    .collect::<TimestampMicrosecondArray>(),
            ),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

/// The rows that a format can hold: texts alone, without nulls, where it has no columns.
fn held_by(format: &OutputFormat, rows: &RecordBatch) -> RecordBatch {
    if format.name != "text" {
        return rows.clone();
    }
    let texts = rows.column(0).as_string::<i64>().iter().map(|text| text.or(Some("")));
    let texts: ArrayRef = Arc::new(texts.collect::<LargeStringArray>());
    RecordBatch::try_from_iter([("text", texts)]).unwrap()
}

/// The given rows, with the texts of one type as those of another.
fn with_texts(rows: &RecordBatch, from: &DataType, to: &DataType) -> RecordBatch {
    let schema = rows.schema();
    let columns = schema.fields().iter().zip(rows.columns());
    let columns = columns.map(|(field, column)| match field.data_type() == from {
        true => (field.name(), cast(column, to).unwrap(), field.is_nullable()),
        false => (field.name(), Arc::clone(column), field.is_nullable()),
    });
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Writes rows, which come `at_a_time`, behind the first `done` of them, from file `number` on.
fn write_from(
    dir: &Path,
    (format, compression): (&OutputFormat, OutputCompression),
    rows: &RecordBatch,
    at_a_time: usize,
    (number, done): (u32, usize),
    shard_bytes: u64,
) -> Vec<ShardOutcome> {
    let schema = with_texts(rows, &DataType::Utf8View, &DataType::LargeUtf8).schema();
    let spec = FileSpec { separator: SEPARATOR.to_owned(), ..FileSpec::new(schema, compression) };
    let table = format.table.unwrap();
    table.check(&spec).unwrap();
    let mut finished = Vec::new();
    let open = |number: u32| {
        let file = HashedFile::create(dir, &format!("{number}"))?;
        table.create(&spec, file.into())
    };
    let take = |shard| {
        finished.push(shard);
        Ok::<(), WriteError>(())
    };
    let encode = |rows: &[RecordBatch]| table.encode(&spec, rows);
    let mut files = ShardWriter::new(number, shard_bytes, GROUP, encode, open, take);
    let mut at = done;
    let read = || {
        let some = at_a_time.min(rows.num_rows() - at);
        let behind = (at + 1..=at + some).map(|next| next as u64).collect();
        let read = PositionedRows { rows: rows.slice(at, some), behind };
        at += some;
        Ok(if some == 0 { Vec::new() } else { vec![read] })
    };
    files.write_while_reading(read, |_| Ok(())).unwrap();
    files.finish(true).unwrap();
    finished
}

fn content(path: &Path, compression: OutputCompression) -> Vec<u8> {
    let mut bytes = Vec::new();
    match compression {
        OutputCompression::Gzip => {
            flate2::read::GzDecoder::new(File::open(path).unwrap())
                .read_to_end(&mut bytes)
                .unwrap();
        }
        OutputCompression::Zstd => {
            bytes = zstd::decode_all(File::open(path).unwrap()).unwrap();
        }
        _ => bytes = std::fs::read(path).unwrap(),
    }
    bytes
}

/// The rows of a file, by readers that share no code with the writers.
fn read(
    path: &Path,
    (format, compression): (&OutputFormat, OutputCompression),
    schema: &SchemaRef,
) -> RecordBatch {
    let batches: Vec<RecordBatch> = match format.name {
        "parquet" => {
            let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap());
            reader.unwrap().build().unwrap().map(Result::unwrap).collect()
        }
        "arrow" => {
            let reader = arrow_ipc::reader::FileReader::try_new(File::open(path).unwrap(), None);
            reader.unwrap().map(Result::unwrap).collect()
        }
        "jsonl" => {
            let bytes = content(path, compression);
            let reader =
                ::arrow::json::ReaderBuilder::new(Arc::clone(schema)).build(bytes.as_slice());
            reader.unwrap().map(Result::unwrap).collect()
        }
        "csv" => vec![csv(&content(path, compression), schema)],
        _ => {
            let text = String::from_utf8(content(path, compression)).unwrap();
            let texts = text.split_terminator(SEPARATOR).map(Some).collect::<LargeStringArray>();
            vec![RecordBatch::try_new(Arc::clone(schema), vec![Arc::new(texts)]).unwrap()]
        }
    };
    concat_batches(schema, &batches).unwrap()
}

/// CSV with nulls and empty texts apart: a cell of nothing is null, one of two quotes is empty.
fn csv(bytes: &[u8], schema: &SchemaRef) -> RecordBatch {
    let mut rows: Vec<Vec<Option<String>>> = vec![Vec::new()];
    let mut at = 0;
    let text = std::str::from_utf8(bytes).unwrap();
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let quoted = bytes[at] == b'"';
        let mut cell = Vec::new();
        if quoted {
            at += 1;
            loop {
                match (bytes[at], bytes.get(at + 1)) {
                    (b'"', Some(b'"')) => at += 1,
                    (b'"', _) => break,
                    _ => {}
                }
                cell.push(bytes[at]);
                at += 1;
            }
            at += 1;
        }
        while !matches!(bytes[at], b',' | b'\n') {
            cell.push(bytes[at]);
            at += 1;
        }
        let cell = String::from_utf8(cell).unwrap();
        rows.last_mut().unwrap().push((quoted || !cell.is_empty()).then_some(cell));
        if bytes[at] == b'\n' && at + 1 < bytes.len() {
            rows.push(Vec::new());
        }
        at += 1;
    }
    let names: Vec<&str> = rows.remove(0).into_iter().map(|_| "").collect();
    assert_eq!(names.len(), schema.fields().len());
    let columns = schema.fields().iter().enumerate().map(|(at, field)| {
        let cells: ArrayRef =
            Arc::new(rows.iter().map(|row| row[at].clone()).collect::<StringArray>());
        match field.data_type() {
            DataType::Float64 => {
                let number = |cell: Option<&str>| cell.map(|cell| cell.parse::<f64>().unwrap());
                Arc::new(cells.as_string::<i32>().iter().map(number).collect::<Float64Array>())
            }
            of => cast(&cells, of).unwrap(),
        }
    });
    RecordBatch::try_new(Arc::clone(schema), columns.collect()).unwrap()
}

/// Every format that has a reader here, with each of its compressions.
fn formats() -> impl Iterator<Item = (&'static OutputFormat, OutputCompression)> {
    let read = FORMATS.iter().filter(|format| format.name != "test_only");
    read.flat_map(|format| {
        format.compressions.iter().map(move |compression| (*format, *compression))
    })
}

fn hashes(shards: &[ShardOutcome]) -> Vec<&ManifestFile> {
    shards.iter().flat_map(|shard| &shard.files).collect()
}

#[test]
fn a_format_is_one_file_and_every_face_has_it() {
    let (format, compression) = FormatName::of_file("a.test_only.gz");
    assert_eq!((format.unwrap().name(), compression), ("test_only", Some(OutputCompression::Gzip)));
    assert!(FormatName::list(|format| format.streams).contains("test_only"));
    #[cfg(feature = "cli")]
    assert!(<FormatName as clap::ValueEnum>::value_variants().contains(&format.unwrap()));
}

#[test]
fn batches_are_read_back_as_they_were_written() {
    let few = odd_rows(150);
    for (form, rows) in formats().flat_map(|form| {
        [(form, &few), (form, &few.slice(0, 0))].map(|(form, rows)| (form, rows.clone()))
    }) {
        let rows = held_by(form.0, &rows);
        let dir = tempfile::tempdir().unwrap();
        let written = write_from(dir.path(), form, &rows, 60, (0, 0), u64::MAX);
        let files = hashes(&written);
        assert_eq!((files.len(), files[0].rows), (1, rows.num_rows() as u64));
        let found = read(&dir.path().join("0"), form, &rows.schema());
        assert!(found == rows, "{} {:?} of {} rows", form.0.name, form.1, rows.num_rows());
    }
}

#[test]
fn bytes_do_not_depend_on_how_rows_come() {
    let many = odd_rows(70_000);
    for form in formats()
        .filter(|(of, compression)| *compression == of.default_compression || of.name == "jsonl")
    {
        let rows = held_by(form.0, &many);
        let write = |at_a_time, from, shard_bytes| {
            let dir = tempfile::tempdir().unwrap();
            let written = write_from(dir.path(), form, &rows, at_a_time, from, shard_bytes);
            (dir, written)
        };
        let (dir, whole) = write(70_000, (0, 0), u64::MAX);
        let found = read(&dir.path().join("0"), form, &rows.schema());
        assert!(found == rows, "{}", form.0.name);
        let (_, by_some) = write(777, (0, 0), u64::MAX);
        assert_eq!(hashes(&by_some), hashes(&whole), "{}", form.0.name);
        // Nor on whether texts come as views, as those of documents do.
        let views = with_texts(&rows, &DataType::LargeUtf8, &DataType::Utf8View);
        let dir_of_views = tempfile::tempdir().unwrap();
        let viewed = write_from(dir_of_views.path(), form, &views, 777, (0, 0), u64::MAX);
        assert_eq!(hashes(&viewed), hashes(&whole), "{}: views", form.0.name);
        let most = hashes(&whole)[0].bytes / 4;
        let (dir, cut) = write(5000, (0, 0), most);
        assert!(cut.len() > 2, "{}: {} files", form.0.name, cut.len());
        // The end of a table, and up to a block that a compressor of whole files holds back, count when they are written.
        let held = if form.1 == form.0.default_compression { most / 16 } else { 128 << 10 };
        let sizes: Vec<u64> = hashes(&cut).iter().map(|file| file.bytes).collect();
        assert!(
            sizes.iter().skip(1).all(|bytes| *bytes <= most + held),
            "{} {:?}: {sizes:?}, {most}",
            form.0.name,
            form.1
        );
        let parts: Vec<RecordBatch> = (0..cut.len())
            .map(|number| read(&dir.path().join(number.to_string()), form, &rows.schema()))
            .collect();
        assert!(concat_batches(&rows.schema(), &parts).unwrap() == rows, "{}", form.0.name);
        // Behind any finished file the rest is what it was.
        let next = cut[0].next;
        assert_eq!(next, cut[0].files[0].rows);
        let (_, resumed) = write(999, (1, next as usize), most);
        assert_eq!(hashes(&resumed), hashes(&cut)[1..], "{}", form.0.name);
    }
}

#[test]
fn values_that_a_format_cannot_hold_are_counted() {
    let floats = [1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b<|end|>\nc", "<|end|>", "\n"]));
    let floats: ArrayRef = Arc::new(Float64Array::from(floats.to_vec()));
    let rows = RecordBatch::try_from_iter([("text", texts), ("quality", floats)]).unwrap();
    for (form, rows, expected) in formats().map(|form| match form.0.name {
        "jsonl" | "csv" => (form, rows.clone(), vec![0, 3]),
        "text" => (form, rows.project(&[0]).unwrap(), vec![1]),
        _ => (form, rows.clone(), vec![]),
    }) {
        let dir = tempfile::tempdir().unwrap();
        let written = write_from(dir.path(), form, &rows, 3, (0, 0), u64::MAX);
        assert_eq!(written[0].lost, expected, "{}", form.0.name);
        assert_eq!(form.0.loss.is_some(), !expected.is_empty(), "{}", form.0.name);
    }
}
