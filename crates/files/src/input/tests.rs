//! Tests of every format and compression, every reason to reject, damage, resumption, and path arguments.

use super::{
    InputFile, InputFormat, InputReader, ReadError, ReadItem, ReadOptions, ResumePoint,
    expand_local,
};
use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, Float64Array, Int64Array,
    LargeStringArray, ListArray, RecordBatch, StringArray, StringViewArray, StructArray,
    TimestampMillisecondArray,
};
use arrow::datatypes::{DataType, Field, Int32Type};
use flate2::write::GzEncoder;
use model::{ReadRecord, RecordKey, Reject, RejectReason};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

const LINES: &str =
    "{\"text\":\"one\",\"n\":1}\n{\"text\":\"two\",\"n\":2}\n{\"text\":\"three\",\"n\":3}\n";

pub(super) struct Dir(TempDir);

impl Dir {
    pub(super) fn new() -> Self {
        Self(TempDir::new().expect("temporary directory"))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().expect("resolves").join(name)
    }

    pub(super) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> InputFile {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("parent")).expect("directory");
        fs::write(&path, bytes).expect("writes");
        let mut inputs = expand_local(&[path.to_string_lossy().into_owned()]).expect("expands");
        assert_eq!(inputs.len(), 1);
        inputs.remove(0)
    }
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("compresses");
    encoder.finish().expect("compresses")
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).expect("compresses")
}

fn skippable(bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x53, 0x2a, 0x4d, 0x18];
    frame.extend(u32::try_from(bytes.len()).expect("short").to_le_bytes());
    frame.extend(bytes);
    frame
}

pub(super) fn drain(reader: &mut InputReader) -> Result<Vec<ReadItem>, (Vec<ReadItem>, ReadError)> {
    let mut items = Vec::new();
    loop {
        match reader.next() {
            Ok(Some(item)) => items.push(item),
            Ok(None) => return Ok(items),
            Err(error) => return Err((items, error)),
        }
    }
}

pub(super) fn read_with(input: &InputFile, options: &ReadOptions) -> Vec<ReadItem> {
    drain(&mut InputReader::open(input, options).expect("opens")).expect("reads")
}

pub(super) fn read(input: &InputFile) -> Vec<ReadItem> {
    read_with(input, &ReadOptions::default())
}

pub(super) fn record(item: &ReadItem) -> &ReadRecord {
    match item {
        ReadItem::Record(record) => record,
        ReadItem::Reject(reject) => panic!("rejected: {}", reject.reason),
    }
}

pub(super) fn rejected(item: &ReadItem) -> &Reject {
    match item {
        ReadItem::Record(record) => panic!("not rejected: {}", record.text),
        ReadItem::Reject(reject) => reject,
    }
}

pub(super) fn texts(items: &[ReadItem]) -> Vec<&str> {
    items.iter().map(|item| record(item).text.as_str()).collect()
}

#[test]
fn lines_become_records_with_key_metadata_and_origin() {
    let dir = Dir::new();
    let line = r#"{"id": 7.00, "meta": {"b":1, "a":[ 1,2]}, "text":"t\u00e9\nxt", "x\n": null, "url":"a\/b"}"#;
    let input = dir.write("a.jsonl", format!("\n{line}\n \t\n{line}"));
    let items = read(&input);
    let first = record(&items[0]);
    assert_eq!(first.text, "té\nxt");
    assert_eq!(first.key, RecordKey::Position);
    let rest = r#""meta":{"b":1,"a":[1,2]},"x\n":null,"url":"a/b"}"#;
    assert_eq!(first.metadata, format!("{{\"id\":7.0,{rest}"));
    let spelled = first.spelled.as_ref().expect("another spelling");
    let others = r#""meta":{"b":1, "a":[ 1,2]},"x\n":null,"url":"a\/b"}"#;
    assert_eq!(spelled.json, format!("{{\"id\":7.00,{others}"));
    assert!(spelled.is_other_value);
    assert_eq!((first.origin.number, first.origin.offset), (0, 1));
    let second = record(&items[1]);
    assert_eq!((second.origin.number, second.origin.offset), (1, line.len() as u64 + 5));
    assert_eq!(*second.origin.path, dir.path("a.jsonl"));
    assert_eq!(items.len(), 2);

    let options = ReadOptions { id_field: Some("id".into()), ..ReadOptions::default() };
    let items = read_with(&input, &options);
    assert_eq!(record(&items[0]).key, RecordKey::Given("7".into()));
    assert_eq!(record(&items[0]).metadata, format!("{{{rest}"));
}

#[test]
fn compression_is_recognised_by_content_in_members_and_frames() {
    let dir = Dir::new();
    let (head, tail) = LINES.as_bytes().split_at(30);
    let files = [
        ("plain.gz", LINES.as_bytes().to_vec()),
        ("gzip.jsonl", gzip(LINES.as_bytes())),
        ("members.txt", [gzip(head), gzip(b""), gzip(tail)].concat()),
        ("zst.jsonl", zst(LINES.as_bytes())),
        ("frames", [zst(head), skippable(b"index"), zst(tail)].concat()),
        ("skippable", [skippable(b"first"), zst(LINES.as_bytes())].concat()),
    ];
    for (name, bytes) in files {
        let input = dir.write(name, &bytes);
        let mut reader = InputReader::open(&input, &ReadOptions::default()).expect("opens");
        let items = drain(&mut reader).expect("reads");
        assert_eq!(texts(&items), ["one", "two", "three"], "{name}");
        assert_eq!(record(&items[2]).origin.offset, 42, "{name}");
        assert_eq!(reader.input_bytes(), bytes.len() as u64, "{name}");
        assert_eq!(reader.point().offset, LINES.len() as u64, "{name}");
    }
}

/// The frame of a dictionary, as web archives have it in front.
fn dictionary_frame(bytes: &[u8]) -> Vec<u8> {
    let mut frame = skippable(bytes);
    frame[0] = 0x5d;
    frame
}

// An archive with a dictionary in front was called damaged.
#[test]
fn a_dictionary_in_front_is_that_of_the_frames_behind_it() {
    let dir = Dir::new();
    let samples: Vec<String> =
        (0..200).map(|n| format!("{{\"text\":\"sample {n} of {}\"}}\n", n * 7)).collect();
    let trained = |size| zstd::dict::from_samples(&samples, size).expect("trains");
    let (dictionary, other) = (trained(1024), trained(2048));
    let frame = |line: &str, dictionary: &[u8]| {
        let mut encoder = zstd::bulk::Compressor::with_dictionary(3, dictionary).expect("makes");
        encoder.compress(line.as_bytes()).expect("compresses")
    };
    let frames = |dictionary: &[u8]| -> Vec<u8> {
        LINES.split_inclusive('\n').flat_map(|line| frame(line, dictionary)).collect()
    };
    let again = [dictionary_frame(&other), frames(&other)].concat();
    for (name, front, times) in [
        ("raw", dictionary_frame(&dictionary), 1),
        ("packed", dictionary_frame(&zst(&dictionary)), 1),
        ("skipped", [skippable(b"first"), dictionary_frame(&dictionary)].concat(), 1),
        ("twice", [again, dictionary_frame(&dictionary)].concat(), 2),
    ] {
        let bytes = [front, frames(&dictionary), zst(LINES.as_bytes())].concat();
        let mut reader = InputReader::open(&dir.write(name, &bytes), &ReadOptions::default())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let items = drain(&mut reader).expect("reads");
        assert_eq!(texts(&items), ["one", "two", "three"].repeat(times + 1), "{name}");
        assert_eq!(reader.input_bytes(), bytes.len() as u64, "{name}");
    }
    // What is no dictionary is skipped as any other frame of its kind; one that is cut is damage.
    let bytes = [dictionary_frame(b"words"), zst(LINES.as_bytes())].concat();
    assert_eq!(texts(&read(&dir.write("words", bytes))), ["one", "two", "three"]);
    let cut = dictionary_frame(&dictionary);
    let cut = dir.write("cut", &cut[..cut.len() / 2]);
    let error = InputReader::open(&cut, &ReadOptions::default()).err().expect("cut");
    assert!(matches!(error, ReadError::Corrupt { .. }), "{error}");
    // Without it, or with another one: named, and nothing is damaged.
    for front in [vec![], dictionary_frame(&other)] {
        let whole = [front.clone(), zst(LINES.as_bytes()), frames(&dictionary)].concat();
        for (bytes, expected) in [(whole, 3), ([front, frames(&dictionary)].concat(), 0)] {
            let opened = InputReader::open(&dir.write("absent", bytes), &ReadOptions::default());
            let (items, error) = match opened {
                Ok(mut reader) => {
                    let read = drain(&mut reader).expect_err("is absent");
                    assert!(matches!(reader.next(), Err(ReadError::Dictionary { .. })), "stays");
                    read
                }
                Err(error) => (Vec::new(), error),
            };
            assert_eq!(items.len(), expected, "{error}");
            assert!(matches!(error, ReadError::Dictionary { .. }), "{error}");
            let words = error.to_string();
            assert!(words.contains("zstd -d -D") && !words.contains("damaged"), "{words}");
        }
    }
}

#[test]
fn a_truncated_stream_gives_whole_records_and_its_place() {
    let dir = Dir::new();
    // Hardly compressible, so that every cut loses something.
    let lines: String = (0..20_000u32)
        .map(|n| format!("{{\"text\":\"{}\"}}\n", blake3::hash(&n.to_le_bytes())))
        .collect();
    for (name, bytes) in
        [("a.jsonl.gz", gzip(lines.as_bytes())), ("b.jsonl.zst", zst(lines.as_bytes()))]
    {
        for cut in [bytes.len() / 3, bytes.len() / 2, bytes.len() - 1] {
            let input = dir.write(name, &bytes[..cut]);
            let mut reader = InputReader::open(&input, &ReadOptions::default()).expect("opens");
            let (items, error) = drain(&mut reader).expect_err("cut");
            let expected: Vec<&str> =
                lines.lines().map(|line| &line[9..73]).take(items.len()).collect();
            assert_eq!(texts(&items), expected, "{name} {cut}");
            let ReadError::Corrupt { path, offset, .. } = &error else { panic!("{error}") };
            assert_eq!(*path, dir.path(name));
            assert!(*offset <= cut as u64 && *offset > 0, "{offset} of {cut}");
            assert!(reader.next().is_err(), "the fault stays");
            let point = reader.point();
            assert_eq!(point.records, items.len() as u64);

            // The whole file, had later, continues where the cut one ended.
            let mut whole = InputReader::open(&dir.write(name, &bytes), &ReadOptions::default())
                .expect("opens");
            assert!(whole.resume(&point).expect("resumes"));
            assert_eq!(drain(&mut whole).expect("reads").len(), 20_000 - items.len());
        }
        let mut damaged = bytes.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 8].fill(0x55);
        let mut reader =
            InputReader::open(&dir.write(name, &damaged), &ReadOptions::default()).expect("opens");
        assert!(matches!(drain(&mut reader), Err((_, ReadError::Corrupt { .. }))), "{name}");
    }
}

#[test]
fn bad_lines_are_rejected_with_reason_and_skipped() {
    let dir = Dir::new();
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(101));
    let huge = format!("{{\"text\":\"a\",\"m\":\"{}\"}}", "y".repeat(3_000_000));
    let lines: Vec<&[u8]> = vec![
        b"{\"text\":\"first\",\"id\":\"k\"}",
        b"not json",
        b"[\"text\"]",
        b"{\"text\":\"a\"",
        b"{\"text\":\"a\",\"id\":1} trailing",
        b"{\"text\":\"a\",\"id\":1,\"text\":\"b\"}",
        b"{\"text\":\"\\ud800\",\"id\":1}",
        b"{\"text\":\"a\",\"id\":1,\"m\":\"\\ud800\"}",
        b"{\"id\":1}",
        b"{\"text\":null,\"id\":1}",
        b"{\"text\":[1,{}],\"id\":1}",
        b"{\"text\":{\"a\":[]},\"id\":1}",
        b"{\"text\":-1.5,\"id\":1}",
        b"{\"text\":true,\"id\":1}",
        b"{\"text\":\"a\"}",
        b"{\"text\":\"a\",\"id\":null}",
        b"{\"text\":\"a\",\"id\":[]}",
        b"{\"text\":\"a\xffb\",\"id\":1}",
        long.as_bytes(),
        huge.as_bytes(),
        b"{\"text\":\"last\",\"id\":-0}",
    ];
    let input = dir.write("bad.jsonl", lines.join(&b"\n"[..]));
    let options =
        ReadOptions { id_field: Some("id".into()), max_doc_bytes: 100, ..ReadOptions::default() };
    let items = read_with(&input, &options);
    assert_eq!(items.len(), lines.len());
    assert_eq!(record(&items[0]).key, RecordKey::Given("k".into()));
    assert_eq!(record(&items[20]).key, RecordKey::Given("0".into()));
    let mut offset = 0;
    for (number, (line, item)) in lines.iter().zip(&items).enumerate() {
        if let ReadItem::Reject(reject) = item {
            assert_eq!((reject.origin.number, reject.origin.offset), (number as u64, offset));
            assert_eq!(reject.raw, &line[..line.len().min(Reject::MAX_RAW)]);
            assert_eq!(reject.raw_bytes, line.len() as u64);
        }
        offset += line.len() as u64 + 1;
    }
    let reason = |at: usize| rejected(&items[at]).reason.clone();
    for at in 1..=6 {
        assert!(matches!(reason(at), RejectReason::NotJson(_)), "line {at}");
    }
    let half = "field `m`: a text has half of a surrogate pair";
    assert_eq!(reason(7), RejectReason::Form(half.to_owned()));
    assert_eq!(
        reason(5),
        RejectReason::NotJson("duplicate field `text` at byte 25 of the line".into())
    );
    for at in 8..=9 {
        assert_eq!(reason(at), RejectReason::NoText("text".into()));
    }
    for at in 10..=13 {
        assert_eq!(reason(at), RejectReason::TextNotString("text".into()));
    }
    for at in 14..=16 {
        assert_eq!(reason(at), RejectReason::BadId("id".into()));
    }
    assert_eq!(reason(17), RejectReason::NotUtf8(10));
    assert_eq!(reason(18), RejectReason::TooLong { bytes: 101, limit: 100 });
    assert_eq!(reason(19), RejectReason::TooLong { bytes: huge.len() as u64, limit: 400 });
}

#[test]
fn line_ends_byte_order_marks_and_blank_lines_are_no_content() {
    let dir = Dir::new();
    let crlf = format!("\u{feff}\r\n{}\r\n  \r\n", LINES.trim_end().replace('\n', "\r\n"));
    let items = read(&dir.write("crlf.jsonl", crlf));
    assert_eq!(texts(&items), ["one", "two", "three"]);
    assert_eq!(record(&items[0]).origin.offset, 5);
    let items = read(&dir.write("mark.txt", "\u{feff}two\r\nlines"));
    assert_eq!(texts(&items), ["two\r\nlines"]);
    assert!(read(&dir.write("empty.jsonl", "")).is_empty());
    assert!(read(&dir.write("blank.jsonl", "\n \n")).is_empty());
}

#[test]
fn the_text_field_is_guessed_in_order_whatever_stands_before_it() {
    let dir = Dir::new();
    let names = ["text", "content", "raw_content", "document", "body"];
    for from in 0..names.len() {
        let fields: Vec<String> =
            names[from..].iter().rev().map(|name| format!("\"{name}\":\"{name}\"")).collect();
        let input = dir.write("guess.jsonl", format!("bad\n{{{}}}\n", fields.join(",")));
        let items = read(&input);
        assert!(matches!(rejected(&items[0]).reason, RejectReason::NotJson(_)));
        assert_eq!(record(&items[1]).text, names[from]);
    }
    let input = dir.write("none.jsonl", "{\"url\":1,\"title\":\"x\"}\n");
    let error = drain(&mut InputReader::open(&input, &ReadOptions::default()).expect("opens"))
        .expect_err("none")
        .1;
    let expected = "none.jsonl: record 0 (counted from 0): no text field among `url`, `title`; name one with `text_field=`";
    assert!(error.to_string().ends_with(expected), "{error}");
    let options = ReadOptions { text_field: Some("title".into()), ..ReadOptions::default() };
    assert_eq!(texts(&read_with(&input, &options)), ["x"]);
}

#[test]
fn a_file_is_a_document_unless_it_looks_like_lines_of_json() {
    let dir = Dir::new();
    for (name, bytes) in [
        ("a.txt", b"plain\ntext\n".to_vec()),
        ("code.rs", b"{ not json }\n".to_vec()),
        ("b.txt.gz", gzip(b"plain\ntext\n")),
    ] {
        let items = read(&dir.write(name, bytes));
        assert_eq!(items.len(), 1, "{name}");
        let record = record(&items[0]);
        assert_eq!((&record.key, record.metadata.as_str()), (&RecordKey::Position, "{}"));
        assert_eq!(record.origin.number, 0);
    }
    assert_eq!(read(&dir.write("empty.txt", b"")), [], "without a byte there is nothing");
    assert_eq!(texts(&read(&dir.write("lines", LINES))).len(), 3);
    let options = ReadOptions { format: InputFormat::Text, ..ReadOptions::default() };
    assert_eq!(texts(&read_with(&dir.write("lines", LINES), &options)), [LINES]);

    let binary = read(&dir.write("image.png", b"\x89PNG\r\n\x1a\n\0\0"));
    let why = rejected(&binary[0]).reason.to_string();
    assert_eq!(why, "an image, not a text: it has no text");
    assert_eq!(rejected(&binary[0]).raw_bytes, 10);
    let insisted = ReadOptions { format: InputFormat::Text, ..ReadOptions::default() };
    let binary = read_with(&dir.write("image.png", b"\x89PNG\r\n\x1a\n\0\0"), &insisted);
    assert_eq!(rejected(&binary[0]).reason, RejectReason::NotUtf8(0));
    let table = dir.write("a.csv", "id,text\n1,a\n");
    assert_eq!(texts(&read(&table)), ["a"]);
    assert_eq!(texts(&read_with(&table, &insisted)), ["id,text\n1,a\n"]);
    assert_eq!(texts(&read(&dir.write("b.csv", LINES))).len(), 3);
    let options = ReadOptions { max_doc_bytes: 1000, ..ReadOptions::default() };
    let long = read_with(&dir.write("long.txt", "z".repeat(3_000_000)), &options);
    let long = rejected(&long[0]);
    assert_eq!(long.reason, RejectReason::TooLong { bytes: 3_000_000, limit: 1000 });
    assert_eq!((long.raw.len(), long.raw_bytes), (Reject::MAX_RAW, 3_000_000));
}

#[test]
fn reading_goes_on_behind_a_point_only_on_the_same_beginning() {
    let dir = Dir::new();
    let input = dir.write("a.jsonl", format!("bad\n{LINES}"));
    let open = || InputReader::open(&input, &ReadOptions::default()).expect("opens");
    let whole = read(&input);
    for taken in 0..=whole.len() {
        let mut first = open();
        for _ in 0..taken {
            first.next().expect("reads").expect("an item");
        }
        let point = first.point();
        let json = serde_json::to_string(&point).expect("serializes");
        assert_eq!(serde_json::from_str::<ResumePoint>(&json).expect("parses"), point);
        let mut second = open();
        assert!(second.resume(&point).expect("resumes"));
        assert_eq!(second.point(), point);
        assert_eq!(drain(&mut second).expect("reads"), whole[taken..]);
    }

    let mut end = open();
    drain(&mut end).expect("reads");
    let end = end.point();
    // Grown: only what is new is read.
    let grown = dir.write("a.jsonl", format!("bad\n{LINES}{{\"text\":\"four\"}}\n"));
    let mut reader = InputReader::open(&grown, &ReadOptions::default()).expect("opens");
    assert!(reader.resume(&end).expect("resumes"));
    let items = drain(&mut reader).expect("reads");
    assert_eq!((texts(&items), record(&items[0]).origin.number), (vec!["four"], 4));
    // Changed or cut: all is read again.
    for other in [format!("bad\n{}", LINES.replace("one", "eno")), LINES.to_owned(), String::new()]
    {
        let input = dir.write("a.jsonl", &other);
        let mut reader = InputReader::open(&input, &ReadOptions::default()).expect("opens");
        assert!(!reader.resume(&end).expect("tries"));
        assert_eq!(drain(&mut reader).expect("reads"), read(&input));
    }
}

#[test]
fn a_last_line_that_has_grown_is_no_place_to_go_on_from() {
    let dir = Dir::new();
    let line = "{\"text\":\"one\"}";
    let mut reader =
        InputReader::open(&dir.write("a.jsonl", line), &ReadOptions::default()).expect("opens");
    drain(&mut reader).expect("reads");
    let point = reader.point();
    let resumes = |after: &str| {
        let input = dir.write("a.jsonl", format!("{line}{after}"));
        let mut reader = InputReader::open(&input, &ReadOptions::default()).expect("opens");
        reader.resume(&point).expect("tries")
    };
    assert!(resumes(""));
    assert!(!resumes(" {\"text\":\"two\"}\n"));
    assert!(!resumes("\n{\"text\":\"two\"}\n"), "its line end was not read: read it all again");
}

#[test]
fn the_guess_is_the_same_after_a_resumption() {
    let dir = Dir::new();
    let input = dir.write("a.jsonl", "{\"text\":\"a\"}\n{\"content\":\"b\"}\n");
    let mut first = InputReader::open(&input, &ReadOptions::default()).expect("opens");
    first.next().expect("reads");
    let point = first.point();
    let mut second = InputReader::open(&input, &ReadOptions::default()).expect("opens");
    assert!(second.resume(&point).expect("resumes"));
    let items = drain(&mut second).expect("reads");
    assert_eq!(rejected(&items[0]).reason, RejectReason::NoText("text".into()));
}

fn parquet_bytes(columns: Vec<(&str, ArrayRef)>, rows_per_group: usize) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .expect("batch");
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(rows_per_group))
        .set_compression(parquet::basic::Compression::ZSTD(Default::default()))
        .build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).expect("writer");
    writer.write(&batch).expect("writes");
    writer.into_inner().expect("closes")
}

#[test]
fn parquet_rows_become_records_with_all_columns() {
    let dir = Dir::new();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    let structs = StructArray::from(vec![(
        Arc::new(Field::new("a", DataType::Boolean, true)),
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])) as ArrayRef,
    )]);
    let bytes = parquet_bytes(
        vec![
            ("z", Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]))),
            ("text", Arc::new(StringArray::from(vec![Some("one"), None, Some("three")]))),
            ("score", Arc::new(Float64Array::from(vec![0.5, 1.0, f64::NAN]))),
            ("at", Arc::new(TimestampMillisecondArray::from(vec![0, 1, 2]))),
            ("list", Arc::new(lists)),
            ("nested", Arc::new(structs)),
            ("name", Arc::new(StringArray::from(vec!["a\"b", "c\nd", "é"]))),
        ],
        2,
    );
    for name in ["a.parquet", "no-suffix"] {
        let input = dir.write(name, &bytes);
        let mut reader = InputReader::open(&input, &ReadOptions::default()).expect("opens");
        let items = drain(&mut reader).expect("reads");
        assert_eq!(record(&items[0]).text, "one");
        assert_eq!(
            record(&items[0]).metadata,
            r#"{"z":1,"score":0.5,"at":"1970-01-01T00:00:00","list":[1,null],"nested":{"a":true},"name":"a\"b"}"#
        );
        assert_eq!(rejected(&items[1]).reason, RejectReason::NoText("text".into()));
        assert!(rejected(&items[1]).raw.starts_with(b"{\"score\":1.0"));
        let third = record(&items[2]);
        assert_eq!((third.origin.number, third.origin.offset), (2, 2));
        for item in [&items[0], &items[2]] {
            serde_json::from_str::<serde_json::Value>(&record(item).metadata).expect("valid JSON");
        }
        assert_eq!(reader.input_bytes(), bytes.len() as u64);
        assert!(!reader.resume(&reader.point()).expect("tries"));
        assert_eq!(drain(&mut reader).expect("reads"), items);
    }
}

#[test]
fn every_kind_of_text_and_id_column_is_read() {
    let dir = Dir::new();
    let words = ["one", "two", "one"];
    let kinds: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(words.to_vec())),
        Arc::new(LargeStringArray::from(words.to_vec())),
        Arc::new(StringViewArray::from(words.to_vec())),
        Arc::new(DictionaryArray::<Int32Type>::from_iter(words)),
        Arc::new(BinaryArray::from(words.map(str::as_bytes).to_vec())),
    ];
    let ids: [ArrayRef; 2] = [
        Arc::new(Int64Array::from(vec![Some(5), Some(-6), None])),
        Arc::new(StringArray::from(vec![Some("5"), Some("-6"), None])),
    ];
    let options = ReadOptions { id_field: Some("id".into()), ..ReadOptions::default() };
    for kind in &kinds {
        for id in &ids {
            let bytes = parquet_bytes(vec![("content", kind.clone()), ("id", id.clone())], 100);
            let items = read_with(&dir.write("a.parquet", bytes), &options);
            assert_eq!(texts(&items[..2]), ["one", "two"], "{}", kind.data_type());
            assert_eq!(record(&items[1]).key, RecordKey::Given("-6".into()));
            assert_eq!(record(&items[1]).metadata, "{}");
            assert_eq!(rejected(&items[2]).reason, RejectReason::BadId("id".into()));
        }
    }
    let binary: ArrayRef = Arc::new(BinaryArray::from(vec![&b"ab\xff"[..], b"long text"]));
    let options = ReadOptions { max_doc_bytes: 5, ..ReadOptions::default() };
    let items =
        read_with(&dir.write("a.parquet", parquet_bytes(vec![("text", binary)], 100)), &options);
    assert_eq!(rejected(&items[0]).reason, RejectReason::NotUtf8(2));
    assert_eq!(rejected(&items[1]).reason, RejectReason::TooLong { bytes: 9, limit: 5 });
}

#[test]
fn parquet_columns_that_do_not_serve_are_named() {
    let dir = Dir::new();
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let input =
        dir.write("a.parquet", parquet_bytes(vec![("n", numbers.clone()), ("text", numbers)], 10));
    let fails = |options: ReadOptions| {
        InputReader::open(&input, &options).err().expect("fails").to_string()
    };
    let text = |name: &str| ReadOptions { text_field: Some(name.into()), ..ReadOptions::default() };
    assert!(fails(text("t")).ends_with("no column `t`; there are `n`, `text`"));
    assert!(
        fails(text("text"))
            .ends_with("column `text` is of type Int64, a text column must hold strings")
    );
}

#[test]
fn a_damaged_parquet_file_is_an_error_with_its_place() {
    let dir = Dir::new();
    let words: Vec<String> =
        (0..5000u32).map(|n| blake3::hash(&n.to_le_bytes()).to_string()).collect();
    let bytes =
        parquet_bytes(vec![("text", Arc::new(StringArray::from(words.clone())) as ArrayRef)], 1000);
    for cut in [4, 7, 100, bytes.len() / 2, bytes.len() - 1] {
        let error =
            InputReader::open(&dir.write("a.parquet", &bytes[..cut]), &ReadOptions::default())
                .err();
        assert!(matches!(error, Some(ReadError::Corrupt { .. })), "{cut}");
    }
    assert!(
        InputReader::open(
            &dir.write("no-suffix", &bytes[..bytes.len() / 2]),
            &ReadOptions::default()
        )
        .is_err()
    );
    assert!(
        InputReader::open(&dir.write("html.parquet", "<html></html>"), &ReadOptions::default())
            .is_err()
    );

    let mut damaged = bytes.clone();
    let place = bytes.len() * 6 / 10;
    damaged[place..place + 64].fill(0xff);
    let mut reader = InputReader::open(&dir.write("a.parquet", damaged), &ReadOptions::default())
        .expect("opens");
    let (items, error) = drain(&mut reader).expect_err("damaged");
    assert!(items.len() >= 2000, "{} rows before the fault", items.len());
    assert_eq!(texts(&items), words[..items.len()]);
    assert!(reader.next().is_err(), "the fault stays");
    let ReadError::Corrupt { offset, .. } = error else { panic!("{error}") };
    assert!(offset > 4 && offset <= place as u64, "{offset} {place}");
}

fn names(dir: &Dir, inputs: &[InputFile]) -> Vec<String> {
    let root = dir.path("");
    let name =
        |input: &InputFile| input.path.strip_prefix(&root).expect("inside").display().to_string();
    inputs.iter().map(name).collect()
}

fn expand_in(dir: &Dir, arguments: &[&str]) -> Result<Vec<InputFile>, ReadError> {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|argument| dir.path(argument).to_string_lossy().into_owned())
        .collect();
    expand_local(&arguments)
}

#[test]
fn directories_are_read_in_byte_order_of_the_path() {
    let dir = Dir::new();
    for name in [
        "d/a/b",
        "d/a-b",
        "d/a.txt",
        "d/Z",
        "d/é",
        "d/.hidden",
        "d/.git/config",
        "d/a/.x/y",
        "other",
    ] {
        dir.write(name, name);
    }
    let found = expand_in(&dir, &["d"]).expect("expands");
    assert_eq!(names(&dir, &found), ["d/Z", "d/a-b", "d/a.txt", "d/a/b", "d/é"]);
    assert_eq!(found[1].size, 5);
    assert!(found[1].version > 0 && !found[1].is_stdin);
    // Twice is once; what is named itself may be hidden.
    let found = expand_in(&dir, &["d/a/b", "d/../other", "d", "d/a", "d/.hidden", "other"])
        .expect("expands");
    assert_eq!(
        names(&dir, &found),
        ["d/a/b", "other", "d/Z", "d/a-b", "d/a.txt", "d/é", "d/.hidden"]
    );
}

#[test]
fn patterns_and_standard_input_are_expanded() {
    let dir = Dir::new();
    for name in [
        "a1.jsonl",
        "a2.jsonl",
        "b.jsonl",
        "[x].txt",
        "sub/a3.jsonl",
        ".a0.jsonl",
        "dir.jsonl/inside",
    ] {
        dir.write(name, name);
    }
    let found = |patterns: &[&str]| names(&dir, &expand_in(&dir, patterns).expect("expands"));
    assert_eq!(found(&["a?.jsonl"]), ["a1.jsonl", "a2.jsonl"]);
    assert_eq!(found(&["*.jsonl"]), ["a1.jsonl", "a2.jsonl", "b.jsonl", "dir.jsonl/inside"]);
    assert_eq!(found(&["**/a*.jsonl"]), ["a1.jsonl", "a2.jsonl", "sub/a3.jsonl"]);
    assert_eq!(found(&["[x].txt"]), ["[x].txt"], "a file of that very name");
    assert!(matches!(expand_in(&dir, &["c*"]), Err(ReadError::NoMatch { .. })));
    assert!(matches!(expand_in(&dir, &["a[.jsonl"]), Err(ReadError::Pattern { .. })));
    assert!(matches!(expand_in(&dir, &["none"]), Err(ReadError::NotFound { .. })));
    fs::create_dir(dir.path("empty")).expect("directory");
    assert!(matches!(expand_in(&dir, &["empty"]), Err(ReadError::EmptyDirectory { .. })));

    let stdin = expand_local(&["-".into(), "-".into()]).expect("expands");
    assert_eq!(stdin.len(), 1);
    assert!(stdin[0].is_stdin && *stdin[0].path == Path::new("-"));
}

#[cfg(unix)]
#[test]
fn links_are_followed_once_and_keep_their_names() {
    use std::os::unix::fs::symlink;
    let dir = Dir::new();
    dir.write("blobs/0a1b", LINES);
    dir.write("d/own.jsonl", LINES);
    symlink(dir.path("d"), dir.path("d/loop")).expect("link");
    symlink(dir.path("blobs/0a1b"), dir.path("d/train.jsonl")).expect("link");
    symlink(dir.path("blobs/0a1b"), dir.path("d/zzz.jsonl")).expect("link");
    symlink(dir.path("gone"), dir.path("d/dangling")).expect("link");
    let found = expand_in(&dir, &["d"]).expect("expands");
    assert_eq!(names(&dir, &found), ["d/own.jsonl", "d/train.jsonl"]);
    assert_eq!(found[1].size, LINES.len() as u64);
}

#[cfg(unix)]
#[test]
fn a_pattern_of_any_depth_does_not_follow_links_round_and_round() {
    use std::os::unix::fs::symlink;
    let dir = Dir::new();
    for name in [
        "a/own.jsonl",
        "a/b/deep.jsonl",
        "a/b/other.txt",
        "a/.git/c.jsonl",
        "a/c/x.txt",
        "far/x.jsonl",
    ] {
        dir.write(name, name);
    }
    // Two loops: followed blindly, their paths double with every step down.
    symlink(dir.path("a"), dir.path("a/loop")).expect("link");
    symlink(dir.path("a"), dir.path("a/c/up")).expect("link");
    symlink(dir.path("gone"), dir.path("a/dangling")).expect("link");
    symlink(dir.path("far"), dir.path("a/far")).expect("link");
    let found = |pattern: &str| names(&dir, &expand_in(&dir, &[pattern]).expect("expands"));
    let all = ["a/b/deep.jsonl", "far/x.jsonl", "a/own.jsonl"];
    assert_eq!(found("a/**/*.jsonl"), all);
    assert_eq!(found("**/o*.jsonl"), ["a/own.jsonl"]);
    assert_eq!(
        found("a/**/b"),
        ["a/b/deep.jsonl", "a/b/other.txt"],
        "a directory is what is in it"
    );
    assert_eq!(found("a/b/**"), ["a/b/deep.jsonl", "a/b/other.txt"]);
    assert!(matches!(expand_in(&dir, &["none/**/*"]), Err(ReadError::NoMatch { .. })));
    assert!(matches!(expand_in(&dir, &["a/**b"]), Err(ReadError::Pattern { .. })));
}

/// A directory in a variable often ends with a stroke: `$DATA/**/*.jsonl` matched nothing.
#[test]
fn a_pattern_of_any_depth_may_have_doubled_strokes_and_dots() {
    let dir = Dir::new();
    dir.write("a/b/x.jsonl", LINES);
    for pattern in ["a//**/*.jsonl", "a/./**/*.jsonl", "./a/**//x.jsonl", "a/**/", ".//**/b/"] {
        let found = expand_in(&dir, &[pattern]).expect(pattern);
        assert_eq!(names(&dir, &found), ["a/b/x.jsonl"], "{pattern}");
    }
}

proptest! {
    #[test]
    fn no_bytes_break_reading(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        head in 0..6usize,
        format in 0..4usize,
    ) {
        let heads: [&[u8]; 6] = [b"", b"{\"text\":\"", b"\x1f\x8b\x08\0\0\0\0\0\0\x03", b"\x28\xb5\x2f\xfd", b"PAR1", b"\xef\xbb\xbf{"];
        let dir = Dir::new();
        let input = dir.write("any", [heads[head], &bytes].concat());
        let format = [InputFormat::Auto, InputFormat::Jsonl, InputFormat::Parquet, InputFormat::Text][format];
        let options = ReadOptions { format, ..ReadOptions::default() };
        if let Ok(mut reader) = InputReader::open(&input, &options) {
            let _ = drain(&mut reader);
            prop_assert!(reader.input_bytes() <= input.size);
        }
    }

    #[test]
    fn a_flipped_byte_in_parquet_never_panics(place in 0..10_000usize, value in any::<u8>()) {
        let words: Vec<String> = (0..50).map(|n| format!("text {n}")).collect();
        let mut bytes = parquet_bytes(vec![("text", Arc::new(StringArray::from(words)) as ArrayRef)], 20);
        let place = place % bytes.len();
        bytes[place] = value;
        let dir = Dir::new();
        let input = dir.write("a.parquet", bytes);
        if let Ok(mut reader) = InputReader::open(&input, &ReadOptions::default()) {
            let _ = drain(&mut reader);
        }
    }

    #[test]
    fn any_text_and_fields_come_back(
        text in any::<String>(),
        name in "[a-z\"\\\\é\n]{1,8}",
        value in any::<String>(),
        number in any::<i64>(),
    ) {
        prop_assume!(name != "text" && name != "n");
        let json = serde_json::json!({ &name: value, "text": text, "n": number });
        let dir = Dir::new();
        let items = read(&dir.write("a.jsonl", json.to_string()));
        prop_assert_eq!(items.len(), 1);
        let record = record(&items[0]);
        prop_assert_eq!(&record.text, &text);
        let metadata: serde_json::Value = serde_json::from_str(&record.metadata).expect("valid JSON");
        prop_assert_eq!(metadata, serde_json::json!({ &name: value, "n": number }));
    }
}

#[test]
fn the_place_before_a_record_is_known_after_reading() {
    let dir = Dir::new();
    let blank = "\n \n".repeat(200_000);
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(700_000));
    let line = "{\"text\":\"one\"}";
    let input = dir.write(
        "a.jsonl",
        format!("\u{feff}\n{line}\n{blank}{line}\n\n{long}\n{blank}{long}\n{line}"),
    );
    let options = ReadOptions { max_doc_bytes: 100_000, ..ReadOptions::default() };
    let mut reader = InputReader::open(&input, &options).expect("opens");
    let mut points = vec![reader.point()];
    while let Some(item) = reader.next().expect("reads") {
        let origin = match &item {
            ReadItem::Record(record) => &record.origin,
            ReadItem::Reject(reject) => &reject.origin,
        };
        let before = InputReader::point_at(&input, &options, origin).expect("reads");
        assert_eq!(before, *points.last().expect("there is one"));
        points.push(reader.point());
    }
    assert_eq!(points.len(), 6);
}

/// Rows that were read are skipped unmade, in whatever run of row groups or batch they stand.
#[test]
fn rows_that_were_read_are_passed_over() {
    let dir = Dir::new();
    let texts: Vec<String> = (0..9).map(|row| format!("text of row {row}")).collect();
    let column = || Arc::new(StringArray::from(texts.clone())) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("text", column())]).expect("batch");
    let mut stream =
        arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).expect("writer");
    for (from, rows) in [(0, 4), (4, 0), (4, 5)] {
        stream.write(&batch.slice(from, rows)).expect("writes");
    }
    let inputs = [
        dir.write("a.parquet", parquet_bytes(vec![("text", column())], 2)),
        dir.write("a.arrows", stream.into_inner().expect("closes")),
    ];
    for input in &inputs {
        let whole = read(input);
        assert_eq!(whole.len(), 9);
        for skipped in 0..=whole.len() {
            let mut reader = InputReader::open(input, &ReadOptions::default()).expect("opens");
            reader.skip_rows(skipped as u64).expect("skips");
            assert_eq!(drain(&mut reader).expect("reads"), whole[skipped..]);
            assert_eq!(reader.point().records, 9);
        }
    }
}
