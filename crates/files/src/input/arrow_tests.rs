//! Tests of Arrow files and streams: of reference libraries, aligned in all ways, cut, damaged, out of order.

use super::format_tests::{golden, golden_items, objects};
use super::tests::{Dir, drain, read, read_with, record, rejected, texts};
use super::{InputFile, InputFormat, InputReader, ReadError, ReadItem, ReadOptions};
use arrow::array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use std::sync::Arc;

#[test]
fn arrow_files_feather_and_streams_give_their_rows() {
    let expected = objects(&golden_items("records.jsonl"));
    for name in ["lz4.feather", "zstd.feather", "plain.arrow", "stream.arrow"] {
        assert_eq!(objects(&golden_items(name)), expected, "{name}");
        let dir = Dir::new();
        let bytes = std::fs::read(golden(name)[0].path.as_ref()).expect("reads");
        let packed = zstd::encode_all(&bytes[..], 3).expect("compresses");
        assert_eq!(objects(&read(&dir.write("no-name", packed))), expected, "{name} compressed");
        let options = ReadOptions { format: InputFormat::Arrow, ..ReadOptions::default() };
        assert_eq!(objects(&read_with(&golden(name)[0], &options)), expected, "{name} insisted");
    }
    let old = golden_items("v1.feather");
    assert!(rejected(&old[0]).reason.to_string().contains("write_feather"));
}

/// Regression: a stream of a release before 0.15 was a text with NUL bytes unless somebody said what it was.
#[test]
fn streams_of_early_releases_are_recognised() {
    let column: ArrayRef = Arc::new(StringArray::from(vec!["alpha", "beta"]));
    let batch = RecordBatch::try_from_iter([("text", column)]).expect("a batch");
    let options = IpcWriteOptions::try_new(8, true, MetadataVersion::V4).expect("options");
    let writer = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options);
    let mut writer = writer.expect("a writer");
    writer.write(&batch).expect("writes");
    let bytes = writer.into_inner().expect("ends");
    assert_ne!(bytes[..4], [0xff; 4]);
    let dir = Dir::new();
    assert_eq!(texts(&read(&dir.write("no-name", &bytes))), ["alpha", "beta"]);
}

/// Two batches of texts as an Arrow file, aligned and described as writers do.
fn arrow_file(alignment: usize, is_legacy: bool) -> Vec<u8> {
    use arrow_ipc::writer;
    let version = if is_legacy { MetadataVersion::V4 } else { MetadataVersion::V5 };
    let options = writer::IpcWriteOptions::try_new(alignment, is_legacy, version).expect("options");
    let batch = |texts: [&str; 2]| {
        let column: arrow::array::ArrayRef =
            std::sync::Arc::new(arrow::array::StringArray::from(texts.to_vec()));
        arrow::array::RecordBatch::try_from_iter([("text", column)]).expect("a batch")
    };
    let first = batch(["alpha", "beta"]);
    let mut file = writer::FileWriter::try_new_with_options(Vec::new(), &first.schema(), options)
        .expect("a writer");
    file.write(&first).expect("writes");
    file.write(&batch(["gamma", "delta"])).expect("writes");
    file.into_inner().expect("ends")
}

#[test]
fn arrow_files_of_any_alignment_are_read() {
    let dir = Dir::new();
    for alignment in [8, 16, 32, 64] {
        for is_legacy in [false, true] {
            let bytes = arrow_file(alignment, is_legacy);
            let items = read(&dir.write("a.arrow", &bytes));
            let found = texts(&items);
            assert_eq!(found, ["alpha", "beta", "gamma", "delta"], "{alignment} {is_legacy}");
        }
    }
    // Polars describes the columns without a length before the description.
    let items = golden_items("polars.arrow");
    assert_eq!(texts(&items), ["alpha one", "beta two", "gamma three"]);
    assert_eq!(record(&items[2]).metadata, r#"{"id":"3","lang":"de"}"#);
    // Without that length all stands eight bytes before the place that the table of contents names.
    let bytes = arrow_file(8, false);
    let (items, words) = damaged(&dir.write("bare.arrow", [&bytes[..8], &bytes[16..]].concat()));
    assert_eq!(texts(&items), ["alpha", "beta", "gamma", "delta"]);
    assert!(words.contains("where there is no message"), "{words}");
    let bytes = arrow_file(64, false);
    // A writer that does not say that its messages end.
    let end = [&[0xff; 4][..], &[0; 4]].concat();
    let at = bytes.windows(8).rposition(|eight| eight == end).expect("the messages end");
    let unsaid = [&bytes[..at], &bytes[at + 8..]].concat();
    assert_eq!(texts(&read(&dir.write("unsaid.arrow", &unsaid))).len(), 4);
    // One that says so too early: the table of contents knows better.
    let schema_end = 64 + 8 + u32::from_le_bytes(bytes[68..72].try_into().expect("four")) as usize;
    let early = [&bytes[..schema_end], &bytes[at..]].concat();
    let input = dir.write("early.arrow", &early);
    let (items, error) =
        drain(&mut InputReader::open(&input, &ReadOptions::default()).expect("opens"))
            .expect_err("batches are missing");
    assert!(items.is_empty() && error.to_string().contains("which counts 2"), "{error}");
}

#[test]
fn errors_of_damaged_arrow_data_have_a_place() {
    let dir = Dir::new();
    for name in ["lz4.feather", "plain.arrow", "stream.arrow"] {
        let bytes = std::fs::read(golden(name)[0].path.as_ref()).expect("reads");
        let is_stream = name == "stream.arrow";
        let mut counts = Vec::new();
        for cut in (16..bytes.len()).step_by(8).chain([bytes.len() - 1]) {
            let input = dir.write("cut.arrow", &bytes[..cut]);
            let options = ReadOptions { format: InputFormat::Arrow, ..ReadOptions::default() };
            let mut reader = InputReader::open(&input, &options).expect("opens");
            match drain(&mut reader) {
                // A stream may end behind any message.
                Ok(items) => {
                    assert!(is_stream, "{name} {cut}");
                    counts.push(items.len());
                }
                Err((items, ReadError::Damaged { offset, .. })) => {
                    assert!(offset <= cut as u64 && items.len() <= 4, "{name} {cut}");
                    assert!(reader.next().is_err(), "the fault stays");
                    counts.push(items.len());
                }
                Err((_, error)) => panic!("{name} {cut}: {error}"),
            }
        }
        assert!(counts.is_sorted() && counts.first() < counts.last(), "{name}: {counts:?}");
        let small = ReadOptions { max_batch_bytes: 64, ..ReadOptions::default() };
        let mut reader = InputReader::open(&golden(name)[0], &small).expect("opens");
        let error = drain(&mut reader).expect_err("too long").1;
        assert!(matches!(error, ReadError::Batch { row: 0, limit: 64, .. }), "{error}");
    }
}

/// What was read before the fault, and its words.
fn damaged(input: &InputFile) -> (Vec<ReadItem>, String) {
    let read = drain(&mut InputReader::open(input, &ReadOptions::default()).expect("opens"));
    let (items, error) = read.expect_err("damaged");
    assert!(matches!(error, ReadError::Damaged { .. }), "{error}");
    (items, error.to_string())
}

fn fields(items: &[ReadItem]) -> Vec<&str> {
    items.iter().map(|item| record(item).metadata.as_str()).collect()
}

/// What the golden file of Polars holds, whose dictionaries stand behind its batches.
const CATEGORIES: [&str; 3] = [
    r#"{"id":"1","lang":"de","kind":"web"}"#,
    r#"{"id":"2","lang":"fr","kind":"news"}"#,
    r#"{"id":"3","lang":"de","kind":"web"}"#,
];

/// Regression: the batches were read before their dictionaries, and the file was damaged from row 0 on.
#[test]
fn dictionaries_behind_the_batches_are_read_first() {
    let dir = Dir::new();
    let input = &golden("polars-categories.arrow")[0];
    let whole = read(input);
    assert_eq!(texts(&whole), ["alpha one", "beta two", "gamma three"]);
    assert_eq!(fields(&whole), CATEGORIES);
    let bytes = std::fs::read(input.path.as_ref()).expect("reads");
    let mut reader = InputReader::open(input, &ReadOptions::default()).expect("opens");
    drain(&mut reader).expect("reads");
    assert_eq!(reader.input_bytes(), bytes.len() as u64);
    for skipped in 0..=whole.len() {
        let mut reader = InputReader::open(input, &ReadOptions::default()).expect("opens");
        reader.skip_rows(skipped as u64).expect("skips");
        assert_eq!(drain(&mut reader).expect("reads"), whole[skipped..]);
    }
    // A compressed file has no places: its order is what is left.
    let packed = zstd::encode_all(&bytes[..], 3).expect("compresses");
    let (items, words) = damaged(&dir.write("packed.arrow", packed));
    assert!(items.is_empty() && words.contains("after the batches"), "{words}");
    for cut in (16..bytes.len()).step_by(8).chain([bytes.len() - 1]) {
        let (items, words) = damaged(&dir.write("cut.arrow", &bytes[..cut]));
        assert!(items.is_empty(), "{cut}: {words}");
    }
    // All dictionaries together are held.
    let options = ReadOptions { max_batch_bytes: 64, ..ReadOptions::default() };
    let mut reader = InputReader::open(input, &options).expect("opens");
    let error = drain(&mut reader).expect_err("too long").1;
    assert!(matches!(error, ReadError::Batch { limit: 64, .. }), "{error}");
}

/// The file with another table of contents: `change` gets its first batch, in this order: a place, the bytes of its
/// description and those of its body are known.
fn with_contents(bytes: &[u8], change: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let trailer = bytes.len() - 10;
    let length = u32::from_le_bytes(bytes[trailer..trailer + 4].try_into().expect("four"));
    let from = trailer - length as usize;
    let (first, body) = {
        let contents = arrow_ipc::root_as_footer(&bytes[from..trailer]).expect("a footer");
        let batches = contents.recordBatches().expect("batches");
        (batches.get(0).offset().to_le_bytes(), batches.get(0).bodyLength().to_le_bytes())
    };
    let is_block = |block: &[u8]| block[..8] == first && block[16..] == body;
    let at = bytes[from..trailer].windows(24).position(is_block).expect("the block");
    change(&mut bytes[from + at - 4..from + at + 24]);
    bytes
}

#[test]
fn a_wrong_footer_is_an_error_behind_the_read_batches() {
    let dir = Dir::new();
    type Change = fn(&mut [u8]);
    let lies: [(&str, Change); 7] = [
        ("a place below zero", |block| block[4..12].fill(0xff)),
        ("a place beyond the end", |block| block[6] = 0x7f),
        ("no description", |block| block[12..16].fill(0)),
        ("a body below zero", |block| block[20..28].fill(0xff)),
        ("a body of all there is", |block| block[20..28].copy_from_slice(&i64::MAX.to_le_bytes())),
        ("a body that overlaps the next message", |block| block[21] += 1),
        ("millions of batches", |block| block[..4].copy_from_slice(&5_000_000_u32.to_le_bytes())),
    ];
    for (lie, change) in lies {
        let plain = std::fs::read(golden("plain.arrow")[0].path.as_ref()).expect("reads");
        let (items, words) = damaged(&dir.write("plain.arrow", with_contents(&plain, change)));
        assert_eq!(objects(&items), objects(&golden_items("records.jsonl")), "{lie}");
        assert!(words.contains("table of contents"), "{lie}: {words}");
        // Without places that can be relied on nothing tells the dictionaries.
        let late = std::fs::read(golden("polars-categories.arrow")[0].path.as_ref());
        let late = with_contents(&late.expect("reads"), change);
        let (items, words) = damaged(&dir.write("late.arrow", late));
        assert!(items.is_empty() && words.contains("row 0 or after it"), "{lie}: {words}");
    }
}

/// Two batches; the second adds to the dictionary of the first.
fn growing_dictionary() -> Vec<u8> {
    let batch = |text: &str, values: &[&str]| {
        let values = StringArray::from(values.to_vec());
        let kind = DictionaryArray::new(Int32Array::from(vec![0]), Arc::new(values));
        let text = Arc::new(StringArray::from(vec![text])) as ArrayRef;
        RecordBatch::try_from_iter([("text", text), ("kind", Arc::new(kind) as ArrayRef)])
            .expect("a batch")
    };
    let (first, second) = (batch("alpha", &["old"]), batch("beta", &["old", "new"]));
    let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
    let mut file =
        FileWriter::try_new_with_options(Vec::new(), &first.schema(), options).expect("a writer");
    file.write(&first).expect("writes");
    file.write(&second).expect("writes");
    file.into_inner().expect("ends")
}

/// A dictionary between batches adds to the one before it, or stands in its place: there the order of the messages
/// decides, and no batch has the values of a later one.
#[test]
fn dictionaries_between_batches_count_from_there_on() {
    let dir = Dir::new();
    let bytes = growing_dictionary();
    let items = read(&dir.write("delta.arrow", &bytes));
    assert_eq!(fields(&items), [r#"{"kind":"old"}"#; 2]);
    // The second dictionary here is not an addition.
    let dictionaries = |bytes: &[u8]| -> Vec<(i64, bool)> {
        let at = bytes.windows(4).enumerate().filter(|(_, four)| *four == [0xff; 4]);
        let messages =
            at.filter_map(|(at, _)| arrow_ipc::root_as_message(bytes.get(at + 8..)?).ok());
        let dictionaries = messages.filter_map(|message| message.header_as_dictionary_batch());
        dictionaries.map(|dictionary| (dictionary.id(), dictionary.isDelta())).collect()
    };
    assert_eq!(dictionaries(&bytes), [(0, false), (0, true)]);
    let replaced = (0..bytes.len()).filter(|at| bytes[*at] == 1).find_map(|at| {
        let mut changed = bytes.clone();
        changed[at] = 0;
        (dictionaries(&changed) == [(0, false), (0, false)]).then_some(changed)
    });
    let items = read(&dir.write("replaced.arrow", replaced.expect("a byte says it")));
    assert_eq!(fields(&items), [r#"{"kind":"old"}"#, r#"{"kind":"new"}"#]);
}
