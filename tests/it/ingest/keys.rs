//! Keys: what supersedes what, which values are keys, and how long they may be.

use crate::support::{Page, Random, corpusdb_test, edited, lines, prose};
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use std::sync::Arc;

corpusdb_test!(a_repeated_key_supersedes_and_keeps_its_generations, |t| {
    t.run("init c --field year:int");
    let mut random = Random::new(29);
    let text = prose(&mut random, 0, 60);
    let page = |text: &str, year: u32| Page {
        fields: json!({ "year": year }),
        ..Page::keyed("home", text)
    };
    let generations = [
        page(&text, 2001),
        page(&text, 2002),
        page(&edited(&mut random, &text, 2), 2003),
        page(&prose(&mut random, 1, 60), 2004),
    ];
    t.write("a.jsonl", lines(&generations[..3]));
    t.write("b.jsonl", lines(&generations[2..]));
    t.write("c.jsonl", generations[0].line());
    // Counts are of what the ingest came to: two of the three were superseded before its end.
    t.run("ingest c a.jsonl --source web --id-field id --json")
        .counts("read 3, added 3, kept 1, updated 2");
    t.run("ingest c b.jsonl --source web --id-field id --json")
        .counts("read 2, added 1, kept 1, unchanged 1, updated 1");
    let shown = t.run("show c --key home --json").json_lines();
    let stands = |one: &Value| {
        let (standing, successor) = (&one["standing"], &one["match"]["witness"]);
        format!("{} {standing} by {successor}", one["fields"]["year"])
    };
    assert_eq!(
        shown.iter().map(stands).collect::<Vec<_>>(),
        [
            "2001 \"superseded\" by 1",
            "2002 \"superseded\" by 2",
            "2003 \"superseded\" by 3",
            "2004 \"kept\" by null",
        ]
    );
    // An older state of the page that comes back is a new document too: keys say what is newest, not what is best.
    t.run("ingest c c.jsonl --source web --id-field id --json")
        .counts("added 1, kept 1, updated 1");
    // The same key in another source is another document.
    t.run("ingest c b.jsonl --source mirror --id-field id --json").counts("added 2, updated 1");
    t.ran("show c --key away").answers_badly();
    t.sound("c");
});

corpusdb_test!(ids_may_be_numbers_and_records_without_one_are_set_aside, |t| {
    t.run("init c");
    t.write("a.jsonl", "{\"id\":7,\"text\":\"seven\"}\n{\"text\":\"none\"}\n{\"id\":[1],\"text\":\"a list\"}\n{\"id\":\"7\",\"text\":\"seven again\"}\n");
    t.run("ingest c a.jsonl --source web --id-field id --json")
        .counts("added 2, updated 1, rejected 2");
    let listed = t.run("rejects c").stdout;
    let reason = "id field `id` is absent, blank, or neither a string nor an integer";
    assert_eq!(listed.matches(reason).count(), 2, "{listed}");
    // Another reading of the same file is another reading: nothing is skipped, and without keys all is new.
    t.run("ingest c a.jsonl --source web --json").counts("read 4, added 4");
    t.sound("c");
});

/// A Parquet file of these ids, each with a text.
fn table(ids: ArrayRef) -> Vec<u8> {
    let texts = ["first", "second", "third", "fourth", "fifth", "sixth"];
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("id", ids), ("text", texts)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

corpusdb_test!(
    /// Each blank id superseded the record before, and a double was another key than the number that it is.
    empty_keys_are_refused_in_every_format,
    |t| {
        let strings = [Some(""), Some("  "), None, Some("007"), Some("a"), Some("NaN")];
        let doubles = [1001.0, f64::NAN, 1.5, 9_007_199_254_740_992.0, -7.0, f64::INFINITY];
        let whole = [7, 0, -1, 9_007_199_254_740_993, i64::MAX, 1001];
        let spelled =
            ["\"\"", "\" \"", "null", "\"007\"", "1001.0", "1.5", "1e3", "-0", "1e400", "true"];
        let line = |(at, id): (usize, &&str)| format!("{{\"id\":{id},\"text\":\"text {at}\"}}\n");
        let json: String = spelled.iter().enumerate().map(line).collect();
        let csv = "id,text\n,a 1\n\"  \",a 2\n007,a 3\n1001.0,a 4\n\"1001.0\",a 5\n1.10,a 6\n";
        let cases: [(&str, Vec<u8>, &[&str]); 5] = [
            (
                "strings.parquet",
                table(Arc::new(StringArray::from_iter(strings))),
                &["007", "a", "NaN"],
            ),
            (
                "doubles.parquet",
                table(Arc::new(Float64Array::from_iter_values(doubles))),
                &["1001", "-7"],
            ),
            (
                "whole.parquet",
                table(Arc::new(Int64Array::from_iter_values(whole))),
                &["7", "0", "-1", "9007199254740993", "9223372036854775807", "1001"],
            ),
            ("lines.jsonl", json.into(), &["007", "1001", "1000", "0"]),
            ("table.csv", csv.into(), &["007", "1001", "1001.0", "1.10"]),
        ];
        for (name, bytes, expected) in cases {
            let corpus = format!("of-{name}");
            t.write(name, bytes);
            t.run(&format!("init {corpus} --mode none"));
            let ran = t.run(&format!("ingest {corpus} {name} --source web --id-field id --json"));
            let keys = t.column(&corpus, "SELECT key FROM documents ORDER BY id");
            assert_eq!(keys, expected, "{name}");
            let report = ran.counts("updated 0").json();
            let rejected = report["read"].as_u64().unwrap() - expected.len() as u64;
            assert_eq!(report["rejected"], rejected, "{name}");
        }
    }
);

corpusdb_test!(oversized_keys_and_fields_are_whole_rejects, |t| {
    t.run("init c");
    let key = |length: usize| "k".repeat(length);
    let page = |id: &str, body: &str, note: &str| {
        format!("{}\n", json!({ "id": id, "body": body, "note": note }))
    };
    let lines = [
        page(&key(8 << 10), "a key that is as long as it may be", ""),
        page(&key((8 << 10) + 1), "a key that is longer", ""),
        page("long", "fields that are long", &"n".repeat(2000)),
        page("twice", "a field that may not be there twice", "x")
            .replace("\"note\"", "\"lang\":1,\"language\""),
    ];
    t.write("a.jsonl", lines.concat());
    let ingest = "ingest c a.jsonl --source web --id-field id --text-field body --json";
    t.run(&format!("{ingest} --max-meta-bytes 1000 --map language=lang"))
        .counts("added 1, rejected 3");
    let rejects = t.run("rejects c --json").json_lines();
    for (reject, (line, reason)) in rejects.iter().zip(lines[1..].iter().zip([
        "its key has 8193 bytes, over the limit of 8192 (--max-key-bytes)",
        "its fields have 2011 bytes, over the limit of 1000 (--max-meta-bytes)",
        "field `lang` cannot be renamed to `language`",
    ])) {
        assert!(reject["reason"].as_str().unwrap().contains(reason), "{reject}");
        // What stands in the reject can be read again as it was.
        let raw: Value = serde_json::from_str(reject["raw"].as_str().unwrap()).unwrap();
        assert_eq!(raw, serde_json::from_str::<Value>(line).unwrap());
    }
    t.run(&format!("{ingest} --max-key-bytes 10kB")).counts("added 3, rejected 0");
    t.sound("c");
});
