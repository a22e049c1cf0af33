//! The same record is the same record: what counts as its content, whichever program wrote it and whenever it came.

use crate::support::{
    Random, TestDir, corpusdb_test, keyed_options, make, numbers, pour, reader, seeds,
    sound_digest, writer,
};
use arrow::array::{
    ArrayRef, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray, StructArray,
    TimestampMillisecondArray, TimestampNanosecondArray,
};
use arrow::datatypes::{DataType, Field};
use corpusdb::dedup::Standing;
use corpusdb::ingest::ReadOptions;
use corpusdb::{DedupMode, IngestOptions};
use std::fmt::Write;
use std::sync::Arc;

/// A field in two spellings of one content: as one program writes it, and as another one does.
fn field(random: &mut Random, depth: usize) -> (String, String) {
    let same = |spelled: &str| (spelled.to_owned(), spelled.to_owned());
    let number = random.between(1, 1000);
    match random.below(if depth > 2 { 7 } else { 10 }) {
        0 => (number.to_string(), format!("{number}.0")),
        1 => (format!("{number}.50"), format!("{number}5e-1")),
        2 => same(&format!("\"word {number}\"")),
        3 => same(
            random.pick::<&str>(&["true", "false", "[]", "[null,1]", "\"7\"", "\"2024\"", "0.1"]),
        ),
        4 => (
            format!("\"2024-03-{:02}T01:30:00Z\"", 1 + number % 31),
            format!("\"2024-03-{:02} 03:30:00.000+02:00\"", 1 + number % 31),
        ),
        5 => (format!("{number}000000000000000000"), format!("{number}e18")),
        6 => ("\"2024-03-31\"".to_owned(), "\"2024-03-31T00:00:00.000\"".to_owned()),
        7 => {
            let (one, other) = field(random, depth + 1);
            (format!("[{one}]"), format!("[ {other} ]"))
        }
        _ => object(random, depth + 1),
    }
}

/// An object in two spellings: the other one has its members in another order, and members that say nothing.
fn object(random: &mut Random, depth: usize) -> (String, String) {
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for at in 0..random.between(1, 5) {
        let (here, there) = field(random, depth);
        one.push(format!("\"f{at}\":{here}"));
        other.push(format!("\"f{at}\" : {there}"));
    }
    other.extend([r#""none":null"#.to_owned(), r#""nothing":{"a":null,"b":{}}"#.to_owned()]);
    let turn = random.below(other.len());
    other.rotate_left(turn);
    (format!("{{{}}}", one.join(",")), format!("{{{}}}", other.join(",")))
}

/// jq, Spark and frames whose columns moved wrote the same records, and each crawl stored the corpus again.
#[test]
fn one_content_in_two_spellings_is_never_superseded() {
    for seed in 0..seeds(12) {
        let mut random = Random::new(seed);
        let scratch = TestDir::new();
        let (mut may, mut june) = (String::new(), String::new());
        for at in 0..20 {
            let (one, other) = object(&mut random, 0);
            let own = format!("\"id\":\"k{at}\",\"text\":\"page {at} of {seed}\"");
            writeln!(may, "{{{own},{}", &one[1..]).unwrap();
            writeln!(june, "{},{own}}}", &other[..other.len() - 1]).unwrap();
        }
        make(&scratch.path("corpus"), DedupMode::None, 0.8);
        let mut writer = writer(&scratch.path("corpus"));
        let may = scratch.write("may.jsonl", may);
        pour(&mut writer, std::slice::from_ref(&may), &keyed_options(1 << 20));
        let before = sound_digest(&writer.corpus());
        for file in [scratch.write("june.jsonl", june), may] {
            let options = IngestOptions { reread: true, ..keyed_options(1 << 20) };
            let report = pour(&mut writer, &[file], &options);
            assert_eq!((report.unchanged, report.added), (20, 0), "seed {seed}");
        }
        // Stored is what came first.
        assert_eq!(sound_digest(&writer.corpus()), before, "seed {seed}");
    }
}

corpusdb_test!(records_without_keys_are_known_by_their_content, |t| {
    let line = |fields: &str| format!("{{\"text\":\"The ferry leaves at nine.\",{fields}}}\n");
    t.write("a.jsonl", line(r#""score":3,"site":{"host":"h","lang":"en"}"#));
    t.run("init c").good();
    t.run("ingest c a.jsonl --source s --json").counts("added 1");
    t.write("a.jsonl", line(r#""site":{"lang":"en","host":"h","x":null},"score":3.0"#));
    t.run("ingest c a.jsonl --source s --json").counts("read 1, unchanged 1, added 0");
    t.write("a.jsonl", line(r#""site":{"lang":"en","host":"h"},"score":3.5"#));
    t.run("ingest c a.jsonl --source s --json").counts("read 1, unchanged 0, added 1");
});

// pandas makes floats of whole numbers as soon as one is missing, and each writer has moments in its own unit.
corpusdb_test!(a_table_of_other_types_has_the_same_contents, |scratch| {
    let ids = || Arc::new(StringArray::from(vec!["a", "b", "c"])) as ArrayRef;
    let texts = || Arc::new(StringArray::from(vec!["one page", "two pages", "three"])) as ArrayRef;
    let nested = |flip: bool| {
        let x = (
            Field::new("x", DataType::Int64, true),
            Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])) as ArrayRef,
        );
        let y = (
            Field::new("y", DataType::Utf8, true),
            Arc::new(StringArray::from(vec![Some("u"), None, None])) as ArrayRef,
        );
        let both = if flip { [y, x] } else { [x, y] };
        Arc::new(StructArray::from(both.map(|(field, column)| (Arc::new(field), column)).to_vec()))
            as ArrayRef
    };
    let seconds = [0, 86_400, 1_711_848_600];
    let moments = |factor: i64| seconds.map(|second| second * factor).to_vec();
    let may: [(&str, ArrayRef); 6] = [
        ("id", ids()),
        ("text", texts()),
        ("likes", Arc::new(Int64Array::from(vec![3, 0, -7]))),
        ("price", Arc::new(Float64Array::from(vec![3.0, 0.5, -1.25]))),
        ("at", Arc::new(TimestampMillisecondArray::from(moments(1000)))),
        ("nested", nested(false)),
    ];
    let price = Decimal128Array::from(vec![300, 50, -125]).with_precision_and_scale(10, 2).unwrap();
    let zoned = TimestampNanosecondArray::from(moments(1_000_000_000)).with_timezone("UTC");
    let june: [(&str, ArrayRef); 7] = [
        ("nested", nested(true)),
        ("at", Arc::new(zoned)),
        ("price", Arc::new(price)),
        ("likes", Arc::new(Float64Array::from(vec![3.0, 0.0, -7.0]))),
        ("gone", Arc::new(Int64Array::from(vec![None, None, None]))),
        ("text", texts()),
        ("id", ids()),
    ];
    let parquet = |name: &str, columns: Vec<(&str, ArrayRef)>| {
        let columns = columns.into_iter().map(|(name, column)| (name, column, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let mut bytes = Vec::new();
        let mut file =
            parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        file.write(&batch).unwrap();
        file.close().unwrap();
        scratch.write(name, bytes)
    };
    let lines = [
        r#"{"id":"a","at":"1970-01-01 00:00:00","likes":3,"nested":{"x":1,"y":"u"},"price":3.00,"text":"one page"}"#,
        r#"{"id":"b","at":"1970-01-02","likes":0,"nested":null,"price":0.50,"text":"two pages"}"#,
        r#"{"id":"c","at":"2024-03-31 01:30:00+00","likes":-7,"nested":{"x":3.0},"price":-1.25,"text":"three"}"#,
    ];
    make(&scratch.path("corpus"), DedupMode::None, 0.8);
    let mut writer = writer(&scratch.path("corpus"));
    let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
    let options = IngestOptions { read, ..IngestOptions::new("s") };
    let report = pour(&mut writer, &[parquet("may.parquet", may.to_vec())], &options);
    assert_eq!(report.added, 3);
    for file in
        [parquet("june.parquet", june.to_vec()), scratch.write("july.jsonl", lines.join("\n"))]
    {
        let report = pour(&mut writer, std::slice::from_ref(&file), &options);
        assert_eq!((report.unchanged, report.added), (3, 0), "{file}");
    }
});

corpusdb_test!(nulls_are_stored_as_they_came_and_are_no_content, |t| {
    let fields = r#""a":null,"b":{"c":null,"d":[null,{"e":null}]},"f":1"#;
    t.write("a.jsonl", format!("{{\"id\":\"k\",\"text\":\"A page.\",{fields}}}\n"));
    t.run("init c").good();
    t.run("ingest c a.jsonl --source s --id-field id --json").counts("added 1");
    assert_eq!(t.column("c", "SELECT meta FROM documents"), [format!("{{{fields}}}")]);
    assert_eq!(t.column("c", "SELECT count(*) FROM documents WHERE meta ->> 'a' IS NULL"), ["1"]);
    t.write("b.jsonl", r#"{"id":"k","text":"A page.","f":1.0,"b":{"d":[null,{}]}}"#);
    t.run("ingest c b.jsonl --source s --id-field id --json").counts("unchanged 1, added 0");
    t.run("export c --to out.jsonl --columns meta.*").good();
    let out = std::fs::read_to_string(t.path("out.jsonl")).unwrap();
    assert!(
        out.contains(r#""a":null"#) && out.contains(r#""b":{"c":null,"d":[null,{"e":null}]}"#),
        "{out}"
    );
});

// A schema of a tool may say that its default is null, and a call that an argument is.
corpusdb_test!(nulls_of_tools_and_arguments_are_content, |t| {
    let line = |tool: &str, arguments: &str| {
        format!(
            "{{\"id\":\"k\",\"text\":\"A page.\",\"tools\":[{{\"name\":\"f\"{tool}}}],\"calls\":[{{\"arguments\":{{{arguments}}}}}]}}\n"
        )
    };
    t.run("init c --mode none").good();
    let all = [
        ("", ""),
        (",\"default\":null", ""),
        (",\"default\":null", "\"at\":null"),
        ("", "\"at\":null"),
    ];
    for (number, (tool, arguments)) in all.into_iter().enumerate() {
        t.write("a.jsonl", line(tool, arguments));
        let report = t.run("ingest c a.jsonl --source s --id-field id --json").good().json();
        assert_eq!(numbers(&report, ["added", "unchanged"]), [1, 0], "{number}");
    }
});

// ---- captures ----

/// A record of an extracted archive.
fn capture(url: &str, date: &str, id: usize, text: &str) -> String {
    format!(
        "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{id:012}>\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{text}\r\n\r\n",
        text.len()
    )
}

// Date and id of a record are the archive's, and every page of every crawl had others.
corpusdb_test!(a_page_of_the_next_crawl_is_unchanged_and_keeps_its_date, |t| {
    let crawl = |month: usize| -> String {
        let page = |at: usize| {
            let (url, date) =
                (format!("http://h.example/{at}"), format!("2024-0{month}-01T00:00:00Z"));
            capture(&url, &date, month * 100 + at, &format!("Page {at} tells of boat {at}."))
        };
        (0..20).map(page).collect()
    };
    t.run("init c").good();
    for (month, expected) in
        [(5, "added 20"), (6, "unchanged 20, added 0"), (4, "unchanged 20, added 0")]
    {
        t.write(&format!("{month}.wet"), crawl(month));
        for names in ["", " --map crawled=date"] {
            let line = format!(
                "ingest c {month}.wet --source s{} --id-field url --json{names}",
                names.len()
            );
            t.run(&line).counts(expected);
        }
    }
    let dates = t.column(
        "c",
        "SELECT DISTINCT coalesce(meta ->> 'date', meta ->> 'crawled') FROM documents",
    );
    assert_eq!(dates, ["2024-05-01T00:00:00Z"]);
});

/// The later of two records won, though it was the older capture.
#[test]
fn of_two_captures_the_later_one_is_the_page() {
    for (order, batch) in
        [("ab", "1MB"), ("ba", "1MB"), ("ba", "1"), ("a b", "1MB"), ("b a", "1MB")]
    {
        let t = TestDir::new();
        t.run("init c --mode none").good();
        let mut older = 0;
        for (number, part) in order.split(' ').enumerate() {
            let records = part.chars().map(|which| match which {
                'a' => {
                    capture("http://h.example/x", "2024-03-01T00:00:00Z", 1, "The older capture.")
                }
                _ => capture("http://h.example/x", "2024-05-01T00:00:00Z", 2, "The newer capture."),
            });
            t.write(&format!("{number}.wet"), records.collect::<String>());
            let line = format!(
                "ingest c {number}.wet --source s --id-field url --batch-bytes {batch} --json"
            );
            let report = t.run(&line).good().json();
            older += report["passed"]["older"].as_u64().unwrap_or(0);
        }
        let kept = t.column("c", "SELECT text FROM documents WHERE kept");
        assert_eq!(kept, ["The newer capture."], "{order} {batch}");
        assert_eq!(older, u64::from(order.starts_with('b')), "{order} {batch}");
        // Read again it stays.
        t.run("ingest c 0.wet --source s --id-field url --reread --json").counts("added 0");
        let corpus = reader(&t.path("c"));
        sound_digest(&corpus);
        let superseded = corpus.view().documents_standing(Standing::Superseded).unwrap();
        assert_eq!(superseded.len(), u64::from(order.starts_with('a')), "{order} {batch}");
    }
}
