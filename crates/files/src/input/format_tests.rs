//! Tests of formats beside lines and Parquet: reference files, hostile ones, resumption at every record.

use super::tests::{Dir, drain, gzip, read, read_with, record, rejected, texts};
use super::{
    CsvOptions, InputFile, InputFormat, InputReader, ReadError, ReadItem, ReadOptions,
    SkippedContent, TextUnit, expand_local,
};
use model::{FieldKind, RecordKey, Reject, RejectReason};
use proptest::prelude::*;
use serde_json::{Map, Value};
use std::io::Write;

/// Files that reference libraries wrote, and what they were made of.
pub(super) fn golden(name: &str) -> Vec<InputFile> {
    let folder = testing::repository("tests/corpora/inputs");
    expand_local(&[folder.join(name).to_string_lossy().into_owned()]).expect("expands")
}

pub(super) fn golden_items(name: &str) -> Vec<ReadItem> {
    golden(name).iter().flat_map(read).collect()
}

/// Records as objects; what is null or empty in one format is absent in another.
pub(super) fn objects(items: &[ReadItem]) -> Vec<Map<String, Value>> {
    let object = |item: &ReadItem| {
        let record = record(item);
        let mut fields: Map<String, Value> =
            serde_json::from_str(&record.metadata).expect("an object");
        fields.insert("text".to_owned(), record.text.clone().into());
        fields.retain(|name, value| *value != Value::Null && *value != "" && name != "column_1");
        fields
    };
    items.iter().map(object).collect()
}

#[test]
fn tables_and_lists_of_pandas_give_their_rows() {
    let expected = objects(&golden_items("records.jsonl"));
    assert_eq!(expected.len(), 4);
    let kinds = [("n", FieldKind::Int), ("score", FieldKind::Float)];
    let declared = kinds.map(|(name, kind)| (name.to_owned(), kind)).to_vec();
    let options = ReadOptions { declared, ..ReadOptions::default() };
    for name in [
        "pandas.csv",
        "pandas-index.csv",
        "pandas.tsv",
        "pandas-semicolon.csv",
        "pandas-quoted.csv",
        "pandas.json",
        "pretty.json",
    ] {
        assert_eq!(objects(&read_with(&golden(name)[0], &options)), expected, "{name}");
        // By content alone, too.
        let dir = Dir::new();
        let bytes = std::fs::read(golden(name)[0].path.as_ref()).expect("reads");
        let unnamed = dir.write("no-name", bytes);
        assert_eq!(objects(&read_with(&unnamed, &options)), expected, "{name} unnamed");
    }
    let options = ReadOptions { format: InputFormat::Json, ..ReadOptions::default() };
    let input = &golden("objects.json")[0];
    assert_eq!(objects(&read_with(input, &options)), expected);
    assert!(rejected(&read(input)[0]).reason.to_string().contains("--format json"));
}

/// Reads on at every record, and at what stands before it, with the same items behind it.
fn goes_on_everywhere(input: &InputFile, options: &ReadOptions) -> Vec<ReadItem> {
    let whole = read_with(input, options);
    for taken in 0..=whole.len() {
        let mut first = InputReader::open(input, options).expect("opens");
        for _ in 0..taken {
            first.next().expect("reads").expect("an item");
        }
        let point = first.point();
        let mut second = InputReader::open(input, options).expect("opens");
        assert!(second.resume(&point).expect("resumes"), "{taken}");
        assert_eq!(drain(&mut second).expect("reads"), whole[taken..], "{taken}");
    }
    whole
}

#[test]
fn every_format_of_a_stream_goes_on_behind_any_record() {
    let dir = Dir::new();
    let defaults = ReadOptions::default();
    for name in ["pandas.csv", "pandas-semicolon.csv", "pandas.json", "pretty.json"] {
        assert_eq!(goes_on_everywhere(&golden(name)[0], &defaults).len(), 4, "{name}");
    }
    let text = "one\r\n\r\n \ntwo\nlines  \n\n\n  three\n";
    let input = dir.write("a.txt", text);
    let by = |text_by| ReadOptions { text_by, ..ReadOptions::default() };
    let lines = goes_on_everywhere(&input, &by(TextUnit::Line));
    assert_eq!(texts(&lines), ["one", "two", "lines  ", "  three"]);
    let paragraphs = goes_on_everywhere(&input, &by(TextUnit::Paragraph));
    assert_eq!(texts(&paragraphs), ["one", "two\nlines  ", "  three"]);
    assert_eq!(record(&paragraphs[1]).origin.offset, 9);
    assert_eq!(texts(&read(&input)), [text]);
    // Records of JSON stay records, however texts are cut.
    let lines = dir.write("a.jsonl", "{\"text\":\"a\\n\\nb\"}\n");
    assert_eq!(texts(&read_with(&lines, &by(TextUnit::Line))), ["a\n\nb"]);
}

/// Regression: the first object decided, and a header, an id or an empty text cost the records of the whole file.
#[test]
fn the_first_records_vote_on_the_text_field() {
    let dir = Dir::new();
    let rows = |field: &str, count: usize| -> Vec<String> {
        (0..count).map(|n| format!("{{\"id\":{n},\"{field}\":\"text {n}\"}}")).collect()
    };
    let after =
        |first: &str, field: &str, count| [vec![first.to_owned()], rows(field, count)].concat();
    for (objects, read, rejected) in [
        (after(r#"{"version":1}"#, "text", 3), 3, 1),
        (after(r#"{"content":"a list of pages"}"#, "text", 3), 3, 1),
        (after(r#"{"id":7}"#, "body", 2), 2, 1),
        (after(r#"{"text":"","body":"first"}"#, "body", 3), 4, 0),
        (after(r#"{"text":" ","body":"first"}"#, "body", 3), 4, 0),
        (after(r#"{"text":5,"content":"first"}"#, "content", 3), 4, 0),
        (after(r#"{"text":null,"score":NaN,"raw_content":"first"}"#, "raw_content", 1), 2, 0),
        // Where all have one it decides, empty or not; of two with as many votes the first.
        (vec![r#"{"text":""}"#.to_owned()], 1, 0),
        (after(r#"{"body":"first"}"#, "text", 1), 1, 1),
        // Records that come later have no vote.
        ([rows("body", 64), rows("text", 100)].concat(), 64, 100),
        ([rows("body", 31), rows("text", 33)].concat(), 33, 31),
        (after(&format!(r#"{{"content":"{}"}}"#, "long ".repeat(100_000)), "text", 20), 20, 1),
    ] {
        let few = objects.len() < 10;
        let lines = dir.write("a.jsonl", objects.join("\n"));
        let list = dir.write("a.json", format!("[{}]", objects.join(" ,\n")));
        let spread = dir.write("spread", objects.join("\n\n").replace(",\"", ",\n\""));
        let options = ReadOptions::default();
        let objects = ReadOptions { format: InputFormat::Json, ..ReadOptions::default() };
        for (input, options) in [(&lines, &options), (&list, &options), (&spread, &objects)] {
            let read_here = if few { goes_on_everywhere } else { read_with };
            let items = read_here(input, options);
            let is_read = |item: &&ReadItem| matches!(item, ReadItem::Record(_));
            let found = items.iter().filter(is_read).count();
            assert_eq!((found, items.len() - found), (read, rejected), "{input:?}: {items:?}");
        }
    }
}

#[test]
fn a_table_or_a_text_that_has_grown_is_read_on_from_its_end() {
    let dir = Dir::new();
    let grows = |name: &str, before: &str, after: &str, options: &ReadOptions| {
        let mut reader = InputReader::open(&dir.write(name, before), options).expect("opens");
        drain(&mut reader).expect("reads");
        let point = reader.point();
        let mut grown = InputReader::open(&dir.write(name, after), options).expect("opens");
        let is_resumed = grown.resume(&point).expect("resumes");
        let items = drain(&mut grown).expect("reads");
        (is_resumed, texts(&items).into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let defaults = ReadOptions::default();
    let before = "text,n\none,1\n";
    assert_eq!(
        grows("a.csv", before, "text,n\none,1\n\"t\nwo\",2\n", &defaults),
        (true, vec!["t\nwo".to_owned()])
    );
    // The last row was not at its end, or a name has changed.
    let (is_resumed, all) = grows("a.csv", "text,n\none,1", "text,n\none,12\ntwo,2\n", &defaults);
    assert!(!is_resumed && all == ["one", "two"]);
    let (is_resumed, all) = grows("a.csv", before, "text,m\none,1\ntwo,2\n", &defaults);
    assert!(!is_resumed && all == ["one", "two"]);
    let by = ReadOptions { text_by: TextUnit::Paragraph, ..ReadOptions::default() };
    assert_eq!(grows("a.txt", "one\n\n", "one\n\ntwo\n", &by), (true, vec!["two".to_owned()]));
    let (is_resumed, all) = grows("a.txt", "one\n", "one\nand more\n", &by);
    assert!(!is_resumed && all == ["one\nand more"]);
}

#[test]
fn rows_of_another_width_are_rejected_with_their_line() {
    let dir = Dir::new();
    let table = b"id,text,n\n1,\"two\nlines\",2\n2,b\n3,c,4,5\n,d,6\n\n5,\"e\xff\",7\n6,f,08\n";
    let input = dir.write("a.csv", table);
    let options = ReadOptions { id_field: Some("id".into()), ..ReadOptions::default() };
    let items = goes_on_everywhere(&input, &options);
    assert_eq!(record(&items[0]).text, "two\nlines");
    assert_eq!(record(&items[0]).key, RecordKey::Given("1".into()));
    assert_eq!(record(&items[0]).metadata, "{\"n\":\"2\"}");
    let why = |at: usize| rejected(&items[at]).reason.to_string();
    assert_eq!(why(1), "the row on line 4 has 2 values, the row of names has 3");
    assert_eq!(why(2), "the row on line 5 has 4 values, the row of names has 3");
    assert_eq!(rejected(&items[2]).raw, b"3,c,4,5");
    assert_eq!(rejected(&items[2]).origin.offset, 30);
    assert_eq!(rejected(&items[3]).reason, RejectReason::BadId("id".into()));
    assert_eq!(rejected(&items[4]).reason, RejectReason::NotUtf8(4));
    assert_eq!(record(&items[5]).metadata, "{\"n\":\"08\"}");
    assert_eq!(items.len(), 6);
}

#[test]
fn an_open_quote_is_named_by_line_and_bounded() {
    let dir = Dir::new();
    let open = dir.write("a.csv", "text,n\none,1\n\"two\n,2\nthree,3\n");
    let mut reader = InputReader::open(&open, &ReadOptions::default()).expect("opens");
    let (items, error) = drain(&mut reader).expect_err("open");
    assert_eq!(texts(&items), ["one"]);
    assert!(matches!(error, ReadError::OpenQuote { line: 3, .. }), "{error}");
    let plain = CsvOptions { quotes: false, ..CsvOptions::default() };
    let options = ReadOptions { table: plain, ..ReadOptions::default() };
    let items = read_with(&open, &options);
    assert_eq!(record(&items[0]).text, "one");
    assert!(rejected(&items[1]).reason.to_string().contains("line 3 has 1 values"));

    // Over many times what is held, closed and not.
    let long = "x\n".repeat(2_000_000);
    let options = ReadOptions { max_doc_bytes: 1000, ..ReadOptions::default() };
    for (end, is_closed) in [("\"\nb,2\n", true), ("", false)] {
        let input = dir.write("b.csv", format!("text,n\na,1\n\"{long}{end}"));
        let mut reader = InputReader::open(&input, &options).expect("opens");
        let (items, error) = match drain(&mut reader) {
            Ok(items) => (items, None),
            Err((items, error)) => (items, Some(error)),
        };
        assert_eq!(record(&items[0]).text, "a");
        if is_closed {
            let long = rejected(&items[1]);
            assert_eq!(long.reason, RejectReason::TooLong { bytes: 4_000_003, limit: 4000 });
            assert_eq!(long.raw.len(), Reject::MAX_RAW);
            // The row has one value: what stands behind it is in no doubt.
            assert_eq!(record(&items[2]).text, "b");
        } else {
            assert!(matches!(error, Some(ReadError::OpenQuote { line: 3, .. })));
        }
    }
}

#[test]
fn a_table_without_a_text_is_refused_unless_its_column_is_named() {
    let dir = Dir::new();
    let input = dir.write("a.csv", "id,title\n1,one\n");
    let items = read(&input);
    let why = rejected(&items[0]).reason.to_string();
    assert!(why.contains("among `id`, `title`") && why.contains("`text_field=`"), "{why}");
    assert_eq!(items.len(), 1);
    let named = ReadOptions { text_field: Some("title".into()), ..ReadOptions::default() };
    assert_eq!(texts(&read_with(&input, &named)), ["one"]);
    let list = dir.write("a.json", "[{\"id\":1}]");
    let why = rejected(&read(&list)[0]).reason.to_string();
    assert!(why.contains("among `id`") && why.contains("`text_field=`"), "{why}");
    let insists = |format| ReadOptions { format, ..ReadOptions::default() };
    for (input, format) in [(&input, InputFormat::Csv), (&list, InputFormat::Json)] {
        let mut reader = InputReader::open(input, &insists(format)).expect("opens");
        assert!(matches!(drain(&mut reader), Err((_, ReadError::NoTextField { .. }))));
    }
    let lacking = ReadOptions { text_field: Some("body".into()), ..ReadOptions::default() };
    let error =
        drain(&mut InputReader::open(&input, &lacking).expect("opens")).expect_err("none").1;
    assert!(error.to_string().ends_with("no column `body`; there are `id`, `title`"), "{error}");
}

#[test]
fn delimiters_are_given_or_detected() {
    let dir = Dir::new();
    let items = read(&dir.write("a.csv", "\u{feff},text,text,n\r\n0,a,b,\r\n"));
    assert_eq!(record(&items[0]).text, "a");
    assert_eq!(record(&items[0]).metadata, "{\"text_3\":\"b\"}");
    let table = CsvOptions { delimiter: Some(b'~'), ..CsvOptions::default() };
    let options = ReadOptions { format: InputFormat::Csv, table, ..ReadOptions::default() };
    let items = read_with(&dir.write("b", "text~n\na,b~1\n"), &options);
    assert_eq!(record(&items[0]).text, "a,b");
    let tabs = ReadOptions { format: InputFormat::Tsv, ..ReadOptions::default() };
    let items = read_with(&dir.write("c", "a,b,c,d\ttext\n1\t2\n"), &tabs);
    assert_eq!(record(&items[0]).metadata, "{\"a,b,c,d\":\"1\"}");
    assert!(read(&dir.write("empty.csv", "")).is_empty());
    assert!(read(&dir.write("names.csv", "text,n\n")).is_empty());
}

#[test]
fn damage_in_a_list_has_a_place_and_bad_values_are_rejects() {
    let dir = Dir::new();
    let list = "[ {\"text\":\"one\", \"m\": {\n\"a\": [1,\n2]}}, 5, {\"text\":2},\n[\"x\"], \"y,]\", {\"text\":\"\\\"]},{\"}\n] [] [{\"text\":\"last\"}]";
    let input = dir.write("a.json", list);
    let items = goes_on_everywhere(&input, &ReadOptions::default());
    assert_eq!(record(&items[0]).metadata, "{\"m\":{\"a\":[1,2]}}");
    for at in [1, 3, 4] {
        assert!(matches!(rejected(&items[at]).reason, RejectReason::NotJson(_)), "{at}");
    }
    assert_eq!(rejected(&items[2]).reason, RejectReason::TextNotString("text".into()));
    assert_eq!(record(&items[5]).text, "\"]},{");
    assert_eq!(record(&items[6]).text, "last");
    assert_eq!(items.len(), 7);
    for (list, offset, words) in [
        ("[{\"text\":\"a\"},\n", 15, "cut off"),
        ("[{\"text\":\"a\"} {\"text\":\"b\"}]", 14, "neither a comma"),
        ("[{\"text\":\"a\"},,{\"text\":\"b\"}]", 14, "a value is missing"),
        ("[{\"text\":\"a\"}]]", 14, "a value is missing"),
    ] {
        let input = dir.write("b.json", list);
        let mut reader = InputReader::open(&input, &ReadOptions::default()).expect("opens");
        let (items, error) = drain(&mut reader).expect_err("damaged");
        assert_eq!(texts(&items), ["a"], "{list}");
        let ReadError::Damaged { offset: at, what, .. } = &error else { panic!("{error}") };
        assert!(*at == offset && what.contains(words), "{list}: {error}");
    }
    // The reader holds little of a value that is far too long, and reads the next.
    let long = format!("[{{\"text\":\"{}\"}},{{\"text\":\"b\"}}]", "y".repeat(3_000_000));
    let options = ReadOptions { max_doc_bytes: 100, ..ReadOptions::default() };
    let items = read_with(&dir.write("c.json", long), &options);
    let reason = &rejected(&items[0]).reason;
    assert_eq!(*reason, RejectReason::TooLong { bytes: 3_000_011, limit: 400 });
    assert_eq!(record(&items[1]).text, "b");
}

/// What the `csv` crate writes of rows.
fn written(rows: &[Vec<String>], delimiter: u8, ends: csv::Terminator) -> Vec<u8> {
    let mut writer =
        csv::WriterBuilder::new().delimiter(delimiter).terminator(ends).from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).expect("writes");
    }
    writer.into_inner().expect("writes")
}

proptest! {
    #[test]
    fn tables_of_the_csv_crate_round_trip(
        rows in proptest::collection::vec(
            (any::<String>(), "[a\",\t\r\n;é ]{0,6}", any::<i64>()), 1..8),
        delimiter in prop::sample::select(vec![b',', b'\t', b';', b'|']),
        crlf in any::<bool>(),
    ) {
        let ends = if crlf { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
        let mut table = vec![vec!["text".to_owned(), "note".to_owned(), "n".to_owned()]];
        table.extend(rows.iter().map(|(text, note, n)| vec![text.clone(), note.clone(), n.to_string()]));
        let dir = Dir::new();
        let input = dir.write("a", written(&table, delimiter, ends));
        let options = ReadOptions { format: InputFormat::Csv, ..ReadOptions::default() };
        let items = goes_on_everywhere(&input, &options);
        prop_assert_eq!(items.len(), rows.len());
        for (item, (text, note, n)) in items.iter().zip(&rows) {
            if text.is_empty() {
                // The crate quotes no empty cell: it is not text.
                prop_assert_eq!(&rejected(item).reason, &RejectReason::NoText("text".to_owned()));
                continue;
            }
            let record = record(item);
            prop_assert_eq!(&record.text, text);
            let fields: Value = serde_json::from_str(&record.metadata).expect("an object");
            let read = fields["note"].as_str().unwrap_or_default();
            prop_assert_eq!(read, note);
            let n = n.to_string();
            prop_assert_eq!(fields["n"].as_str(), Some(n.as_str()));
        }
    }

    #[test]
    fn no_bytes_break_the_reading_of_any_format(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        marks in "[\\[\\]{}\",:a\n\r ]{0,60}",
        format in prop::sample::select(vec![InputFormat::Json, InputFormat::Csv, InputFormat::Tsv]),
        text_by in prop::sample::select(vec![TextUnit::Line, TextUnit::Paragraph]),
    ) {
        let dir = Dir::new();
        for content in [bytes, marks.into_bytes()] {
            let input = dir.write("any", &content);
            for options in [
                ReadOptions { format, ..ReadOptions::default() },
                ReadOptions { format: InputFormat::Text, text_by, ..ReadOptions::default() },
            ] {
                let mut reader = InputReader::open(&input, &options).expect("opens");
                let _ = drain(&mut reader);
                prop_assert!(reader.point().offset <= content.len() as u64);
            }
        }
    }
}

#[test]
fn folders_of_datasets_give_their_records_alone() {
    let expected = objects(&golden_items("records.jsonl"));
    for (name, order) in
        [("dataset", [0, 1, 2, 3]), ("hub", [0, 1, 2, 3]), ("dataset-dict", [3, 0, 1, 2])]
    {
        let found: Vec<_> = order.iter().map(|at| expected[*at].clone()).collect();
        assert_eq!(objects(&golden_items(name)), found, "{name}");
    }
    let names = |name: &str| -> Vec<String> {
        let files = golden(name);
        let name =
            |file: &InputFile| file.path.file_name().expect("named").to_string_lossy().into_owned();
        files.iter().map(name).collect()
    };
    assert_eq!(names("dataset"), ["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"]);
    // What is listed must be there; what is not a list is a file like others.
    let dir = Dir::new();
    for file in ["state.json", "dataset_info.json", "data-00000-of-00002.arrow"] {
        let from = testing::repository("tests/corpora/inputs/dataset");
        dir.write(&format!("d/{file}"), std::fs::read(from.join(file)).expect("reads"));
    }
    let folder = dir.path("d").to_string_lossy().into_owned();
    let error = expand_local(std::slice::from_ref(&folder)).expect_err("missing").to_string();
    assert!(error.contains("data-00001-of-00002.arrow: no such file"), "{error}");
    dir.write("d/state.json", "{}");
    dir.write("d/README.md", "Words.");
    assert_eq!(expand_local(&[folder]).expect("expands").len(), 2, "shards beside a page");
}

#[test]
fn every_compression_reads_all_parts_and_detects_cuts() {
    let expected = objects(&golden_items("pandas.csv"));
    let dir = Dir::new();
    for name in ["pandas.csv.bz2", "pandas.csv.xz", "pandas.csv.lz4"] {
        let input = &golden(name)[0];
        assert_eq!(
            objects(&goes_on_everywhere(input, &ReadOptions::default())),
            expected,
            "{name}"
        );
        let bytes = std::fs::read(input.path.as_ref()).expect("reads");
        let mut reader = InputReader::open(input, &ReadOptions::default()).expect("opens");
        drain(&mut reader).expect("reads");
        assert_eq!(reader.input_bytes(), bytes.len() as u64, "{name}");
        let padded = dir.write("padded.csv", [&bytes[..], &[0; 512]].concat());
        assert_eq!(objects(&read(&padded)), expected, "{name} with zeros behind");
        let mut whole = 0;
        for cut in 12..bytes.len() {
            let input = dir.write("cut.csv", &bytes[..cut]);
            let read = InputReader::open(&input, &ReadOptions::default())
                .map_err(|error| (Vec::new(), error))
                .and_then(|mut reader| drain(&mut reader));
            match read {
                // Between two parts nothing is missing but the quote that is open there.
                Err((_, ReadError::OpenQuote { .. })) | Ok(_) => whole += 1,
                Err((_, ReadError::Corrupt { offset, .. })) => {
                    assert!(offset <= cut as u64, "{name} {cut}");
                }
                Err((_, error)) => panic!("{name} {cut}: {error}"),
            }
        }
        assert_eq!(whole, 1, "{name}: the end of the first part");
    }
}

#[test]
fn decompression_bombs_are_bounded() {
    let long = format!("{{\"text\":\"{}\"}}\n", "x".repeat(30_000_000)).into_bytes();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(&long).expect("compresses");
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(&long).expect("compresses");
    let options = ReadOptions { max_doc_bytes: 1000, ..ReadOptions::default() };
    let dir = Dir::new();
    for (bytes, least) in
        [(bzip2.finish().expect("ends"), 10_000), (lz4.finish().expect("ends"), 200)]
    {
        assert!(bytes.len() * least < long.len(), "{} bytes", bytes.len());
        let items = read_with(&dir.write("a.jsonl", bytes), &options);
        let reason = &rejected(&items[0]).reason;
        assert_eq!(*reason, RejectReason::TooLong { bytes: 30_000_011, limit: 4000 });
    }
}

proptest! {
    #[test]
    fn changed_bytes_in_arrow_or_compressed_data_never_panic(
        name in prop::sample::select(vec![
            "lz4.feather", "zstd.feather", "plain.arrow", "stream.arrow", "polars-categories.arrow",
            "pandas.csv.bz2", "pandas.csv.xz", "pandas.csv.lz4",
        ]),
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let mut bytes = std::fs::read(golden(name)[0].path.as_ref()).expect("reads");
        let place = place.index(bytes.len());
        bytes[place] = value;
        let dir = Dir::new();
        let input = dir.write("any", &bytes);
        let options = ReadOptions { max_batch_bytes: 1 << 20, ..ReadOptions::default() };
        if let Ok(mut reader) = InputReader::open(&input, &options) {
            let _ = drain(&mut reader);
        }
    }
}

#[test]
fn texts_of_web_archives_are_records_and_pages_counted() {
    let records = golden_items("records.jsonl");
    let expected = texts(&records);
    for name in ["wet.warc", "wet.warc.gz"] {
        let items = goes_on_everywhere(&golden(name)[0], &ReadOptions::default());
        assert_eq!(texts(&items), expected, "{name}");
        let metadata: Value = serde_json::from_str(&record(&items[1]).metadata).expect("an object");
        let told = serde_json::json!({
            "url": "https://a.example/2", "date": "2026-01-02T03:04:05Z",
            "record_id": "<urn:uuid:00000000-0000-0000-0000-000000000002>",
            "record_type": "conversion", "content_type": "text/plain",
            "language": "deu", "languages": "deu,eng",
        });
        assert_eq!(metadata, told, "{name}");
    }
    let by_url = ReadOptions { id_field: Some("url".into()), ..ReadOptions::default() };
    let input = &golden("pages.warc.gz")[0];
    let items = goes_on_everywhere(input, &by_url);
    assert_eq!(texts(&items), [expected[1], "Chunked, in part", "Compressed in transfer"]);
    assert_eq!(record(&items[2]).key, RecordKey::Given("https://a.example/6".into()));
    let mut reader = InputReader::open(input, &by_url).expect("opens");
    drain(&mut reader).expect("reads");
    assert_eq!(
        reader.take_skipped(),
        SkippedContent { html: 1, gone: 1, other: 1, ..SkippedContent::default() }
    );
    assert_eq!(reader.take_skipped(), SkippedContent::default());
}

/// A record of a web archive as it should be, but for its length.
fn warc_record(kind: &str, content_type: &str, length: usize, payload: &str) -> String {
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{payload}\r\n\r\n"
    )
}

#[test]
fn a_wrong_length_in_a_web_archive_has_a_place() {
    let dir = Dir::new();
    let good = warc_record("conversion", "text/plain", 4, "good");
    for (length, words) in [(3, "no record follows"), (5, "no record follows"), (400, "file ends")]
    {
        let second = warc_record("conversion", "text/plain", length, "bad!");
        for bytes in [format!("{good}{second}{good}"), format!("{good}{second}")] {
            let packed = [gzip(good.as_bytes()), gzip(&bytes.as_bytes()[good.len()..])].concat();
            for bytes in [bytes.into_bytes(), packed] {
                let input = dir.write("a.warc", bytes);
                let mut reader = InputReader::open(&input, &ReadOptions::default()).expect("opens");
                // Where the archive ends behind it, the length says too much or leaves a letter.
                let Err((items, error)) = drain(&mut reader) else {
                    panic!("{length} was believed");
                };
                assert_eq!(texts(&items), ["good"]);
                let ReadError::Damaged { offset, what, .. } = &error else { panic!("{error}") };
                assert_eq!(*offset, good.len() as u64, "{error}");
                assert!(what.contains(&format!("Content-Length: {length}")), "{error}");
                assert!(what.contains(words) || length == 5, "{error}");
            }
        }
    }
    for (bytes, words) in [
        ("WARC/1.0\r\nWARC-Type: conversion\r\n\r\n", "without a Content-Length"),
        ("WARC/1.0\r\nWARC-Type: conversion\r\n", "does not end"),
    ] {
        let mut reader =
            InputReader::open(&dir.write("b.warc", bytes), &ReadOptions::default()).expect("opens");
        let error = drain(&mut reader).expect_err("damaged").1;
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn non_texts_of_web_archives_are_refused_skipped_or_rejected() {
    let dir = Dir::new();
    let page = warc_record("resource", "text/html; charset=utf-8", 13, "<html></html>");
    let read_one = |bytes: &str| {
        let items = read(&dir.write("a.warc", bytes));
        assert_eq!(items.len(), 1);
        rejected(&items[0]).reason.clone()
    };
    let RejectReason::NotText(why) = read_one(&page.repeat(3)) else { panic!("is no text") };
    assert!(why.contains("3 HTML pages") && why.contains("trafilatura"), "{why}");
    let RejectReason::NotText(why) =
        read_one(&warc_record("metadata", "application/json", 2, "{}"))
    else {
        panic!("is no text")
    };
    assert!(why.contains("WAT") && why.contains("give the WET files"), "{why}");
    let RejectReason::NotText(why) =
        read_one(&warc_record("metadata", "application/warc-fields", 2, "a:"))
    else {
        panic!("is no text")
    };
    assert!(why.contains("without any text"), "{why}");
    // The name of the file does not matter.
    let arc = dir.write("a.arc", "filedesc://a.arc 0.0.0.0 2007 text/plain 9\n1 0 Alexa\n\nbody");
    let options = ReadOptions { format: InputFormat::Warc, ..ReadOptions::default() };
    let error = drain(&mut InputReader::open(&arc, &options).expect("opens")).expect_err("ARC").1;
    assert!(error.to_string().contains("in the old ARC format"), "{error}");
    let options = ReadOptions { max_doc_bytes: 100, ..ReadOptions::default() };
    let long = "z".repeat(3_000_000);
    let http = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: br\r\n\r\n";
    let brotli = String::from_utf8_lossy(b"\x0b\x02").into_owned();
    let archive = [
        warc_record("conversion", "text/plain", long.len(), &long),
        warc_record("resource", "image/png", long.len(), &long),
        warc_record(
            "response",
            "application/http",
            http.len() + brotli.len(),
            &format!("{http}{brotli}"),
        ),
        warc_record("resource", "text/plain", 0, ""),
    ]
    .concat();
    let items = read_with(&dir.write("b.warc", archive), &options);
    assert_eq!(rejected(&items[0]).reason, RejectReason::TooLong { bytes: 3_000_000, limit: 100 });
    // Bytes that are a text as they stand are taken for one, whatever the header says.
    assert_eq!(texts(&items[1..]), [brotli.as_str(), ""]);
}

/// A record with lines of its own in its header.
fn headed_record(kind: &str, content_type: &str, lines: &str, payload: &str) -> String {
    let record = warc_record(kind, content_type, payload.len(), payload);
    record.replacen("WARC-Type", &format!("{lines}WARC-Type"), 1)
}

// A part of a page, asked for by a range, took the place of the page; segments were pages that end in a sentence.
#[test]
fn parts_of_pages_are_no_pages() {
    let dir = Dir::new();
    let answer = |status: &str, lines: &str, body: &str| {
        let http = format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n{lines}\r\n{body}");
        warc_record("response", "application/http; msgtype=response", http.len(), &http)
    };
    let range = |range: &str| format!("Content-Range: {range}\r\n");
    let archive = [
        answer("206 Partial Content", &range("bytes 4-7/8"), "part"),
        answer("206 Partial Content", &range("bytes 0-3/8"), "part"),
        answer("206 Partial Content", &range("bytes 0-3/*"), "part"),
        answer("206 Partial Content", "", "part"),
        answer("206 Partial Content", &range("bytes 0-4/5"), "whole"),
        answer("200 OK", &range("bytes 0-3/8"), "page"),
        headed_record("resource", "text/plain", "WARC-Segment-Number: 1\r\n", "It goes"),
        headed_record("continuation", "", "WARC-Segment-Number: 2\r\n", " on here."),
        headed_record("conversion", "text/plain", "WARC-Truncated: Length\r\n", "cut"),
    ];
    let input = dir.write("a.warc", archive.concat());
    let mut reader = InputReader::open(&input, &ReadOptions::default()).expect("opens");
    let items = drain(&mut reader).expect("reads");
    assert_eq!(texts(&items[..2]), ["whole", "page"]);
    let RejectReason::Form(why) = &rejected(&items[2]).reason else { panic!("is rejected") };
    assert!(why.contains("WARC-Segment-Number"), "{why}");
    assert_eq!(record(&items[3]).text, "cut");
    assert!(record(&items[3]).metadata.contains("\"truncated\":\"length\""));
    assert_eq!(items.len(), 4);
    let partial = 5;
    assert_eq!(reader.take_skipped(), SkippedContent { partial, ..SkippedContent::default() });
}

proptest! {
    #[test]
    fn no_archive_breaks_reading(
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = std::fs::read(golden("wet.warc")[0].path.as_ref()).expect("reads");
        let place = place.index(bytes.len());
        bytes[place] = value;
        let cut = cut.index(bytes.len());
        let dir = Dir::new();
        for bytes in [&bytes[..], &bytes[..cut]] {
            let options = ReadOptions { format: InputFormat::Warc, ..ReadOptions::default() };
            let mut reader = InputReader::open(&dir.write("any", bytes), &options).expect("opens");
            let _ = drain(&mut reader);
            prop_assert!(reader.point().offset <= bytes.len() as u64);
        }
    }
}
