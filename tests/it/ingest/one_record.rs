//! One record: the same values come to the same documents and the same rejects, in whatever form they are handed over.

use crate::support::{TestDir, corpusdb_test, make, pour, reader, sound_digest, writer};
use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    Float64Array, Int32Array, Int64Array, LargeBinaryArray, ListArray, MapBuilder, RecordBatch,
    StringArray, StringBuilder, StructArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type, Schema};
use corpusdb::ingest::{InputFormat, ReadOptions, Records};
use corpusdb::{Context, CorpusWriter, DedupMode, IngestOptions};
use std::collections::HashMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

/// Values of a field, each as an input may spell it, and how it is stored; none: its record is rejected, and why.
fn values() -> Vec<(String, Result<String, &'static str>)> {
    let plain = [
        ("1", "1"),
        ("-0", "0"),
        ("7.0", "7.0"),
        ("7.50", "7.5"),
        ("1e3", "1000.0"),
        ("1E+3", "1000.0"),
        ("-0.0", "-0.0"),
        ("0.1", "0.1"),
        ("0.10000000000000000001", "0.10000000000000000001"),
        ("1e16", "1e16"),
        ("10000000000000000.0", "1e16"),
        ("1e400", "1e400"),
        ("-10.0e399", "-1e400"),
        ("1e-400", "1e-400"),
        ("5e-324", "5e-324"),
        ("1e-5", "0.00001"),
        ("0.000001", "1e-6"),
        ("9007199254740993", "9007199254740993"),
        ("9007199254740993.0", "9007199254740993.0"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "18446744073709551616"),
        ("1234567890123456789012345678901234567890", "1234567890123456789012345678901234567890"),
        ("-1234567890123456789012345678901234567890", "-1234567890123456789012345678901234567890"),
        ("true", "true"),
        ("false", "false"),
        ("\"n/a\"", "\"n/a\""),
        ("\"007\"", "\"007\""),
        ("\"\"", "\"\""),
        ("\"NaN\"", "\"NaN\""),
        ("\"Infinity \\\" NaN\"", "\"Infinity \\\" NaN\""),
        ("\"a\\/b\\u0041\\b\\f\"", "\"a/bA\\b\\f\""),
        ("\"\\ud83d\\ude00\"", "\"\u{1f600}\""),
        ("\"nul \\u0000 end\"", "\"nul \\u0000 end\""),
        ("\"del \u{7f} c1 \u{85}\"", "\"del \u{7f} c1 \u{85}\""),
        ("\"\u{feff}bom\"", "\"\u{feff}bom\""),
        ("\"\\u2028 \u{2029}\"", "\"\u{2028} \u{2029}\""),
        ("\"\\u202e bidi \u{2066}\"", "\"\u{202e} bidi \u{2066}\""),
        ("\"tab\\tline\\nreturn\\r\"", "\"tab\\tline\\nreturn\\r\""),
        ("\"{\\\"a\\\": 1}\"", "\"{\\\"a\\\": 1}\""),
        ("[]", "[]"),
        ("{}", "{}"),
        ("[ null , 1.0,[ ] ]", "[null,1.0,[]]"),
        (
            "{\"b\":1,\"a\":{\"c\":null,\"d\":[{\"e\":null}]}}",
            "{\"b\":1,\"a\":{\"c\":null,\"d\":[{\"e\":null}]}}",
        ),
        ("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}"),
        ("{\"a\":1,\"b\":2,\"\\u0061\":null}", "{\"a\":null,\"b\":2}"),
        ("[NaN,Infinity,-Infinity,1]", "[null,null,null,1]"),
        ("{\"p\":NaN,\"q\":1}", "{\"p\":null,\"q\":1}"),
        ("\"2024-03-31T01:30:00Z\"", "\"2024-03-31T01:30:00Z\""),
        ("1711848600000", "1711848600000"),
        (
            "[{\"role\":\"user\",\"content\":\"a\",\"tool_calls\":null}]",
            "[{\"role\":\"user\",\"content\":\"a\",\"tool_calls\":null}]",
        ),
    ];
    let mut values: Vec<_> = plain
        .iter()
        .map(|(spelled, stored)| ((*spelled).to_owned(), Ok((*stored).to_owned())))
        .collect();
    for depth in [128, 300, 500, 511, 512] {
        // The record itself is the first level.
        let nested = format!("{}1{}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        values.push((nested.clone(), Ok(nested)));
        let nested = format!("{}\"\\u0041\"{}", "{\"a\":".repeat(depth - 1), "}".repeat(depth - 1));
        values.push((nested.clone(), Ok(nested.replace("\\u0041", "A"))));
    }
    values.push((format!("{}1{}", "[".repeat(512), "]".repeat(512)), Err("deeper than 512")));
    values.push(("\"half \\ud83d pair\"".to_owned(), Err("field `v`: a text has half")));
    values.push(("{\"a\":[\"\\udc00\"]}".to_owned(), Err("field `v`: a text has half")));
    // Every control character, and letters of many scripts, spelled in two ways.
    for code in (1..0x20).chain([0x418, 0x5d0, 0x627, 0x915, 0x4e2d, 0xfb01, 0xfffd]) {
        let character = char::from_u32(code).unwrap();
        let stored = serde_json::to_string(&format!("x{character}y")).unwrap();
        values.push((format!("\"x\\u{code:04X}y\""), Ok(stored)));
    }
    values
}

/// Ids as an input may spell them, and the key that each is.
const IDS: [(&str, Option<&str>); 26] = [
    ("\"a\"", Some("a")),
    ("\" a \"", Some(" a ")),
    ("\"007\"", Some("007")),
    ("\"1.0\"", Some("1.0")),
    ("\"NaN\"", Some("NaN")),
    ("\"null\"", Some("null")),
    ("\"\\u0418\"", Some("И")),
    ("\"line\\nend\"", Some("line\nend")),
    ("\"\\u202e\"", Some("\u{202e}")),
    ("7", Some("7")),
    ("-7", Some("-7")),
    ("-0", Some("0")),
    ("8.0", Some("8")),
    ("9e0", Some("9")),
    ("9007199254740993", Some("9007199254740993")),
    ("18446744073709551616", Some("18446744073709551616")),
    ("9007199254740992.0", None),
    ("1.5", None),
    ("1e400", None),
    ("NaN", None),
    ("null", None),
    ("\"\"", None),
    ("\" \\t\"", None),
    ("true", None),
    ("[1]", None),
    ("{\"a\":1}", None),
];

/// A line for every value and every id, and what becomes of it: key and fields, or words of the reason.
type Expected = Result<(String, String), &'static str>;

fn hostile() -> Vec<(String, Expected)> {
    let mut all = Vec::new();
    for (number, (value, stored)) in values().into_iter().enumerate() {
        let line =
            format!("{{\"id\":\"v{number}\",\"text\":\"text of value {number}\",\"v\":{value}}}");
        let expected = stored.map(|stored| (format!("v{number}"), format!("{{\"v\":{stored}}}")));
        all.push((line, expected));
    }
    for (number, (id, key)) in IDS.into_iter().enumerate() {
        let line = format!("{{\"id\":{id},\"text\":\"text of id {number}\",\"n\":{number}}}");
        let expected = key.map(|key| (key.to_owned(), format!("{{\"n\":{number}}}")));
        all.push((line, expected.ok_or("id field `id` is absent, blank")));
    }
    for (text, why) in [
        ("null", "no text: field `text` is absent or null"),
        ("NaN", "no text: field `text` is absent or null"),
        ("7", "text field `text` is not a string"),
        ("[\"a\"]", "text field `text` is not a string"),
        ("{\"a\":\"b\"}", "text field `text` is not a string"),
        ("\"half \\udfff\"", "field `text`: a text has half"),
    ] {
        all.push((format!("{{\"id\":\"t\",\"text\":{text}}}"), Err(why)));
    }
    all.push((
        "{\"id\":\"\\udc80\",\"text\":\"a\"}".to_owned(),
        Err("field `id`: a text has half of a surrogate pair"),
    ));
    all.push(("{\"id\":\"t\"}".to_owned(), Err("no text: field `text` is absent or null")));
    all
}

/// The same JSON over many lines, with space wherever there may be some.
fn spread(json: &str) -> String {
    let (mut out, mut in_string, mut is_escaped) = (String::new(), false, false);
    for character in json.chars() {
        match character {
            '"' if !is_escaped => in_string = !in_string,
            '{' | '[' | ',' | ':' | '}' | ']' if !in_string => {
                out.push_str("\n \t");
                out.push(character);
                out.push_str("\r\n  ");
                continue;
            }
            _ => {}
        }
        is_escaped = character == '\\' && !is_escaped;
        out.push(character);
    }
    out
}

/// The same JSON in ASCII, as Python's writer has it.
fn ascii(json: &str) -> String {
    let mut units = [0; 2];
    let escape = |character: char, units: &mut [u16; 2]| -> String {
        character.encode_utf16(units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    json.chars()
        .map(|character| match character.is_ascii() {
            true => character.to_string(),
            false => escape(character, &mut units),
        })
        .collect()
}

fn by_id(source: &str) -> IngestOptions {
    let read = ReadOptions {
        id_field: Some("id".to_owned()),
        text_field: Some("text".to_owned()),
        ..ReadOptions::default()
    };
    IngestOptions { read, ..IngestOptions::new(source) }
}

fn hand_over(writer: &mut CorpusWriter, records: Records<'_>, options: &IngestOptions) {
    writer.ingest(records, options, &Context::new()).unwrap();
}

/// Keys, texts and fields of the documents of a corpus, and numbers and reasons of its rejects.
#[derive(Debug, PartialEq)]
struct StoredRecord {
    documents: Vec<(String, String, String)>,
    rejects: Vec<(u64, String)>,
}

fn stored(path: &Path) -> StoredRecord {
    let corpus = reader(path);
    sound_digest(&corpus);
    let documents = corpus.documents(None).unwrap().map(Result::unwrap);
    let rejects = corpus.rejects(1000).unwrap().map(Result::unwrap);
    StoredRecord {
        documents: documents
            .map(|it| (it.key.clone(), it.text, it.metadata.get().to_owned()))
            .collect(),
        rejects: rejects.map(|it| (it.number, it.reason)).collect(),
    }
}

corpusdb_test!(hostile_values_are_one_record_in_every_spelling_of_json, |scratch| {
    let hostile = hostile();
    let lines: Vec<&str> = hostile.iter().map(|(line, _)| line.as_str()).collect();
    let write = |name: &str, text: String| scratch.write(name, text);
    let inputs = [
        ("lines", write("a.jsonl", lines.join("\n"))),
        ("bom", write("b.jsonl", lines.iter().map(|line| format!("\u{feff}{line}\r\n")).collect())),
        ("ascii", write("c.jsonl", ascii(&lines.join("\n")))),
        ("array", write("d.json", format!("[{}]", spread(&lines.join(","))))),
        ("behind", write("e.json", spread(&lines.join("\n\n")))),
    ];
    let mut all = Vec::new();
    for (name, input) in inputs {
        make(&scratch.path(name), DedupMode::None, 0.8);
        let mut options = by_id("web");
        if name == "behind" {
            options.read.format = InputFormat::Json;
        }
        pour(&mut writer(&scratch.path(name)), &[input], &options);
        all.push((name, stored(&scratch.path(name))));
    }
    make(&scratch.path("objects"), DedupMode::None, 0.8);
    let objects = lines.iter().map(|line| Ok::<_, Infallible>(Ok((*line).to_owned())));
    let records = Records::objects("objects", objects);
    hand_over(&mut writer(&scratch.path("objects")), records, &by_id("web"));
    all.push(("objects", stored(&scratch.path("objects"))));

    let (_, first) = &all[0];
    let good: Vec<_> = hostile.iter().filter_map(|(_, expected)| expected.as_ref().ok()).collect();
    assert_eq!(first.documents.len(), good.len());
    for ((key, metadata), (stored_key, _, stored)) in good.iter().zip(&first.documents) {
        assert_eq!((key, metadata), (stored_key, stored));
    }
    let bad: Vec<_> = hostile
        .iter()
        .enumerate()
        .filter_map(|(number, (line, expected))| Some((number, line, expected.as_ref().err()?)))
        .collect();
    assert_eq!(first.rejects.len(), bad.len(), "{:#?}", first.rejects);
    for ((number, line, why), (stored, reason)) in bad.iter().zip(&first.rejects) {
        assert_eq!(*number as u64, *stored);
        assert!(reason.contains(**why), "{line}: {reason}");
    }
    for (name, other) in &all[1..] {
        assert_eq!(other, first, "{name}");
    }
});

/// A column of texts that are JSON, as `datasets` writes fields of uneven shapes.
fn json_column(name: &str) -> Field {
    let extension = ("ARROW:extension:name".to_owned(), "arrow.json".to_owned());
    Field::new(name, DataType::Utf8, true).with_metadata(HashMap::from([extension]))
}

/// The files of a table: Parquet, a file of Arrow, and a stream.
fn write_tables(scratch: &TestDir, name: &str, batch: &RecordBatch) -> Vec<String> {
    let mut bytes = Vec::new();
    let mut parquet =
        parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    parquet.write(batch).unwrap();
    parquet.close().unwrap();
    let mut stream = Vec::new();
    let mut arrow = arrow_ipc::writer::StreamWriter::try_new(&mut stream, &batch.schema()).unwrap();
    arrow.write(batch).unwrap();
    arrow.finish().unwrap();
    drop(arrow);
    vec![
        scratch.write(&format!("{name}.parquet"), bytes),
        scratch.write(&format!("{name}.arrows"), stream),
    ]
}

corpusdb_test!(hostile_values_in_columns_of_json_are_those_of_the_lines, |scratch| {
    let good = values().into_iter().filter_map(|(value, stored)| stored.ok().map(|_| value));
    // In a list they are a level deeper.
    let hostile: Vec<_> = good.filter(|value| value.matches(['[', '{']).count() <= 500).collect();
    let ids: Vec<String> = (0..hostile.len()).map(|number| format!("v{number}")).collect();
    let texts: Vec<String> = ids.iter().map(|id| format!("text of {id}")).collect();
    let lines: Vec<String> = (ids.iter().zip(&texts).zip(&hostile))
        .map(|((id, text), value)| {
            format!("{{\"id\":\"{id}\",\"text\":\"{text}\",\"v\":{value},\"list\":[{value}]}}")
        })
        .collect();
    make(&scratch.path("lines"), DedupMode::None, 0.8);
    let file = scratch.write("a.jsonl", lines.join("\n"));
    pour(&mut writer(&scratch.path("lines")), &[file], &by_id("web"));
    let expected = stored(&scratch.path("lines"));
    assert_eq!((expected.documents.len(), expected.rejects.len()), (hostile.len(), 0));

    let schema = Schema::new(vec![
        Field::new("id", DataType::Utf8, true),
        Field::new("text", DataType::Utf8, true),
        json_column("v"),
        Field::new("list", DataType::List(Arc::new(json_column("item"))), true),
    ]);
    let column = |values: &[String]| Arc::new(StringArray::from_iter_values(values)) as ArrayRef;
    // As `datasets` writes messages of uneven shapes.
    let each = OffsetBuffer::from_lengths(hostile.iter().map(|_| 1));
    let item = Arc::new(json_column("item"));
    let list = Arc::new(ListArray::new(item, each, column(&hostile), None)) as ArrayRef;
    let columns = vec![column(&ids), column(&texts), column(&hostile), list];
    let batch = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
    for table in write_tables(&scratch, "t", &batch) {
        let path = scratch.path(&format!("{}-corpus", table.rsplit('.').next().unwrap()));
        make(&path, DedupMode::None, 0.8);
        pour(&mut writer(&path), &[table], &by_id("web"));
        assert_eq!(stored(&path), expected);
    }
});

corpusdb_test!(columns_of_every_type_are_the_values_that_json_has_for_them, |scratch| {
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    let nested = StructArray::new(
        vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Binary, true)]
            .into(),
        vec![
            Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])),
            Arc::new(BinaryArray::from_opt_vec(vec![Some("é".as_bytes()), None, Some(b"\xff")])),
        ],
        Some(NullBuffer::from(vec![true, true, true])),
    );
    let mut texts_by_number =
        MapBuilder::new(None, arrow::array::Int32Builder::new(), StringBuilder::new());
    for row in [&[(7, Some("x")), (-1, None)][..], &[], &[(0, Some("y\""))]] {
        for (key, value) in row {
            texts_by_number.keys().append_value(*key);
            texts_by_number.values().append_option(*value);
        }
        texts_by_number.append(true).unwrap();
    }
    let dictionary: DictionaryArray<Int32Type> =
        [Some("en"), None, Some("en")].into_iter().collect();
    let floats = Float64Array::from(vec![Some(1.0), Some(f64::NAN), Some(f64::NEG_INFINITY)]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"a"), Some(b"b"), Some(b"c")]))),
        (
            "text",
            Arc::new(LargeBinaryArray::from_opt_vec(vec![
                Some(b"one"),
                Some(b"two"),
                Some(b"three"),
            ])),
        ),
        ("__index_level_0__", Arc::new(Int64Array::from(vec![5, 6, 7]))),
        ("int", Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(7)]))),
        ("big", Arc::new(UInt64Array::from(vec![u64::MAX, 0, 1]))),
        ("float", Arc::new(floats)),
        ("truth", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("bytes", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"plain"), None, Some(b"\xfe")]))),
        ("list", Arc::new(list)),
        ("nested", Arc::new(nested)),
        ("map", Arc::new(texts_by_number.finish())),
        ("dictionary", Arc::new(dictionary)),
        ("day", Arc::new(Date32Array::from(vec![Some(0), None, Some(19813)]))),
        ("moment", Arc::new(TimestampMicrosecondArray::from(vec![0, 1, 1_711_848_600_000_000]))),
        (
            "decimal",
            Arc::new(
                Decimal128Array::from(vec![150, -1, 0]).with_precision_and_scale(20, 2).unwrap(),
            ),
        ),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let lines = [
        r#"{"id":"a","text":"one","int":-9223372036854775808,"big":18446744073709551615,"float":1.0,"truth":true,"bytes":"plain","list":[1,null],"nested":{"a":1,"b":"é"},"map":{"7":"x"},"dictionary":"en","day":"1970-01-01","moment":"1970-01-01T00:00:00","decimal":1.50}"#,
        r#"{"id":"b","text":"two","big":0,"float":NaN,"nested":{},"map":{},"moment":"1970-01-01T00:00:00.000001","decimal":-0.01}"#,
        r#"{"id":"c","text":"three","int":7,"big":1,"float":-Infinity,"truth":false,"bytes":"fe","list":[],"nested":{"a":3,"b":"ff"},"map":{"0":"y\""},"dictionary":"en","day":"2024-03-31","moment":"2024-03-31T01:30:00","decimal":0.00}"#,
    ];
    make(&scratch.path("lines"), DedupMode::None, 0.8);
    let file = scratch.write("a.jsonl", lines.join("\n"));
    let report = pour(&mut writer(&scratch.path("lines")), &[file], &by_id("web"));
    assert_eq!(report.not_finite, 2);
    let expected = stored(&scratch.path("lines"));
    for table in write_tables(&scratch, "t", &batch) {
        let path = scratch.path(&format!("{}-corpus", table.rsplit('.').next().unwrap()));
        make(&path, DedupMode::None, 0.8);
        let report = pour(&mut writer(&path), &[table], &by_id("web"));
        assert_eq!(report.not_finite, 2);
        assert_eq!(stored(&path), expected);
    }
    let path = scratch.path("batches");
    make(&path, DedupMode::None, 0.8);
    let batches = arrow::array::RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    hand_over(&mut writer(&path), Records::batches("batches", batches), &by_id("web"));
    assert_eq!(stored(&path), expected);
});

corpusdb_test!(a_rejected_row_keeps_all_that_it_had, |scratch| {
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)])) as ArrayRef, true),
        (
            "text",
            Arc::new(BinaryArray::from_opt_vec(vec![
                Some(b"a \"quoted\" \xff text"),
                Some(b"no id"),
                None,
                Some(b"good"),
            ])),
            true,
        ),
        ("n", Arc::new(Int32Array::from(vec![1, 2, 3, 4])), true),
    ])
    .unwrap();
    for table in write_tables(&scratch, "t", &batch) {
        let path = scratch.path(&format!("{}-corpus", table.rsplit('.').next().unwrap()));
        make(&path, DedupMode::None, 0.8);
        let report = pour(&mut writer(&path), &[table], &by_id("web"));
        assert_eq!((report.added, report.rejected), (1, 3));
        let corpus = reader(&path);
        let raw: Vec<Vec<u8>> =
            corpus.rejects(9).unwrap().map(|reject| reject.unwrap().raw).collect();
        assert_eq!(raw[0], b"{\"id\":1,\"text\":\"a \\\"quoted\\\" \xff text\",\"n\":1}");
        assert_eq!(raw[1], b"{\"text\":\"no id\",\"n\":2}");
        assert_eq!(raw[2], b"{\"id\":3,\"n\":3}");
    }
});

corpusdb_test!(row_numbers_are_no_fields_and_large_cells_are_texts, |scratch| {
    make(&scratch.path("corpus"), DedupMode::None, 0.8);
    let may = ",id,text,n\n0,a,first text,18446744073709551616\n1,b,second text,007\n";
    let june = ",id,text,n\n0,z,another text,1e400\n1,a,first text,18446744073709551616\n2,b,second text,007\n3,c,third text,x\n";
    let mut writer = writer(&scratch.path("corpus"));
    let first = pour(&mut writer, &[scratch.write("may.csv", may)], &by_id("web"));
    let second = pour(&mut writer, &[scratch.write("june.csv", june)], &by_id("web"));
    assert_eq!((first.added, second.added, second.updated), (2, 2, 0));
    drop(writer);
    let fields: Vec<String> =
        stored(&scratch.path("corpus")).documents.into_iter().map(|it| it.2).collect();
    let expected = [
        "{\"n\":\"18446744073709551616\"}",
        "{\"n\":\"007\"}",
        "{\"n\":\"1e400\"}",
        "{\"n\":\"x\"}",
    ];
    assert_eq!(fields, expected);
});
