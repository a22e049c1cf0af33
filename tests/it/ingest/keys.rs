//! Keys: what supersedes what, and values from outside that are joined by them.

use crate::support::{
    Page, Random, TestDir, corpusdb, corpusdb_test, digest, edited, ingest, init, lines, numbers,
    prose, sound, sql,
};
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use std::fs::File;
use std::sync::Arc;

// ----
// Keys: what supersedes what, which values are keys, and how long they may be.

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
    let listed = t.run("rejects c --list").stdout;
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

// Each blank id superseded the record before, and a double was another key than the number that it is.
corpusdb_test!(empty_keys_are_refused_in_every_format, |t| {
    let strings = [Some(""), Some("  "), None, Some("007"), Some("a"), Some("NaN")];
    let doubles = [1001.0, f64::NAN, 1.5, 9_007_199_254_740_992.0, -7.0, f64::INFINITY];
    let whole = [7, 0, -1, 9_007_199_254_740_993, i64::MAX, 1001];
    let spelled =
        ["\"\"", "\" \"", "null", "\"007\"", "1001.0", "1.5", "1e3", "-0", "1e400", "true"];
    let line = |(at, id): (usize, &&str)| format!("{{\"id\":{id},\"text\":\"text {at}\"}}\n");
    let json: String = spelled.iter().enumerate().map(line).collect();
    let csv = "id,text\n,a 1\n\"  \",a 2\n007,a 3\n1001.0,a 4\n\"1001\",a 5\n1.10,a 6\n1e3,a 7\n";
    let cases: [(&str, Vec<u8>, &[&str]); 5] = [
        ("strings.parquet", table(Arc::new(StringArray::from_iter(strings))), &["007", "a", "NaN"]),
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
        ("table.csv", csv.into(), &["007", "1001.0", "1001", "1.10", "1e3"]),
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
});

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

// ----
// Values from outside, joined to stored documents by id or key.

const COUNT: usize = 120;

/// Sixty words that no other document has.
fn text(number: usize) -> String {
    (0..60).map(|at| format!("w{} ", number * 100 + at)).collect()
}

fn line(number: usize, more: &str) -> String {
    format!("{{\"url\":\"u{number}\",\"text\":\"{}\",\"topic\":\"old\"{more}}}\n", text(number))
}

/// Documents with keys `u0`, `u1`, ..; two fields declared that the records do not have.
fn corpus(scratch: &TestDir, name: &str) -> String {
    let corpus = scratch.arg(name);
    init(
        &corpus,
        &["--field", "perplexity:float", "--field", "topic:keyword", "--field", "grade:int"],
    );
    let lines: String = (0..COUNT).map(|number| line(number, ",\"odd\":1.50")).collect();
    scratch.ingest(&corpus, "pages.jsonl", lines, &["--source", "web", "--id-field", "url"]);
    corpus
}

fn set(corpus: &str, field: &str, more: &[&str]) -> serde_json::Value {
    corpusdb(&[&["field", "set", corpus, field, "--json"], more].concat()).good().json()
}

// Scores computed elsewhere could not come into a corpus but by ingesting everything anew.
corpusdb_test!(scores_from_outside_are_joined_by_key, |scratch| {
    let corpus = corpus(&scratch, "corpus");
    let scores: String = (0..COUNT + 5)
        .map(|number| format!("{{\"page\":\"u{number}\",\"score\":{}.25}}\n", number * 2))
        .collect();
    let file = scratch.write("scores.jsonl", scores);
    let by_key = ["--from", &file, "--key", "page", "--value", "score"];
    let before = digest(&corpus);
    let tried = set(&corpus, "perplexity", &[&by_key[..], &["--dry-run"]].concat());
    assert_eq!(numbers(&tried, ["records", "changed", "unknown"]), [125, 120, 5]);
    assert_eq!(digest(&corpus), before);
    let report = set(&corpus, "perplexity", &by_key);
    assert_eq!(numbers(&report, ["changed", "unchanged", "unknown", "commits"]), [120, 0, 5, 1]);
    assert_eq!(report["unknown_examples"][0], "u120");
    sound(&corpus);
    let rows =
        sql(&corpus, "SELECT key, perplexity FROM documents WHERE perplexity > 230 ORDER BY id");
    let wanted =
        [("u115", 230.25), ("u116", 232.25), ("u117", 234.25), ("u118", 236.25), ("u119", 238.25)];
    let found: Vec<(&str, f64)> = rows
        .iter()
        .map(|row| (row["key"].as_str().unwrap(), row["perplexity"].as_f64().unwrap()))
        .collect();
    assert_eq!(found, wanted);
    // The same again changes nothing, and makes no commit.
    let joined = digest(&corpus);
    let again = set(&corpus, "perplexity", &by_key);
    assert_eq!(numbers(&again, ["changed", "unchanged", "commits"]), [0, 120, 0]);
    assert_eq!(digest(&corpus), joined);
    // A record that comes again is still unchanged, and keeps its score; new content has its own fields.
    let file = scratch.arg("pages.jsonl");
    let report = ingest(&corpus, &[&file], &["--source", "web", "--id-field", "url", "--reread"]);
    assert_eq!(numbers(&report, ["added", "unchanged"]), [0, COUNT as u64]);
    assert_eq!(digest(&corpus), joined);
    let newer = scratch.write("newer.jsonl", line(7, "").replace("w700 ", "other "));
    ingest(&corpus, &[&newer], &["--source", "web", "--id-field", "url"]);
    let rows = sql(
        &corpus,
        "SELECT perplexity FROM documents WHERE key = 'u7' AND standing <> 'superseded'",
    );
    assert!(rows.len() == 1 && rows[0]["perplexity"].is_null(), "{rows:?}");
    sound(&corpus);
});

// Keywords leave the postings of their old value, numbers their column; nulls take values away. Where values end up
// decides the digest, not the way there.
corpusdb_test!(values_replace_one_another_and_the_way_does_not_matter, |scratch| {
    let (one, two) = (corpus(&scratch, "one"), corpus(&scratch, "two"));
    let give = |name: &str, of: &dyn Fn(usize) -> String| {
        let lines = (0..COUNT).map(|n| format!("{{\"document\":{n},\"v\":{}}}\n", of(n)));
        scratch.write(name, lines.collect::<String>())
    };
    let first = give("first.jsonl", &|n| format!("\"t{}\"", n % 7));
    let last = give("last.jsonl", &|n| {
        if n % 3 == 0 { "null".to_owned() } else { format!("\"s{}\"", n % 2) }
    });
    let by_id =
        |file: &str| ["--from", file, "--id", "document", "--value", "v"].map(str::to_owned);
    let words = |words: &[String; 6]| words.clone();
    let run = |corpus: &str, field: &str, file: &str| {
        let owned = words(&by_id(file));
        let words: Vec<&str> = owned.iter().map(String::as_str).collect();
        set(corpus, field, &words)
    };
    run(&one, "topic", &first);
    sound(&one);
    let count = |corpus: &str, sql_condition: &str| {
        let counted = corpusdb(&["count", corpus, "--where", sql_condition]).good().stdout;
        counted.trim().replace(',', "").parse::<u64>().unwrap()
    };
    assert_eq!((count(&one, "topic = 'old'"), count(&one, "topic = 't3'")), (0, 17));
    for corpus in [&one, &two] {
        run(corpus, "topic", &last);
        sound(corpus);
    }
    assert_eq!(digest(&one), digest(&two));
    assert_eq!((count(&one, "topic = 't3'"), count(&one, "topic IS NULL")), (0, 40));
    assert_eq!(count(&one, "topic = 's1'"), 40);
    // All else of the record is as it was.
    corpusdb(&["show", &one, "1", "--json"]).good().prints(&[r#"{"topic":"s1","odd":1.5}"#]);
});

corpusdb_test!(bad_values_of_parquet_are_refused_with_their_record, |scratch| {
    let corpus = corpus(&scratch, "corpus");
    let path = scratch.path("scores.parquet");
    let ids = UInt64Array::from_iter_values((0..COUNT as u64).rev());
    let scores: Float64Array =
        (0..COUNT).map(|at| (at % 4 != 0).then_some(at as f64 / 8.0)).collect();
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(ids) as _),
        ("perplexity", Arc::new(scores) as _),
    ])
    .unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let path = path.to_str().unwrap();
    let report = set(&corpus, "perplexity", &["--from", path, "--id", "id"]);
    assert_eq!(numbers(&report, ["changed", "without_value"]), [90, 30]);
    sound(&corpus);
    let rows = sql(&corpus, "SELECT sum(perplexity) AS s FROM documents");
    let wanted: f64 = (0..COUNT).filter(|at| at % 4 != 0).map(|at| at as f64 / 8.0).sum();
    assert_eq!(rows[0]["s"].as_f64(), Some(wanted));
    let wrong = scratch.write("wrong.jsonl", "{\"id\":1,\"v\":3}\n{\"id\":2,\"v\":\"high\"}\n");
    let words = ["--from", &wrong, "--id", "id", "--value", "v", "--strict"];
    let fails = |field: &str, told: &[&str]| {
        corpusdb(&[&["field", "set", &corpus, field], &words[..]].concat()).fails(told);
    };
    fails("grade", &["record 1", "\"high\"", "kind int"]);
    fails(
        "nothing",
        &["no field `nothing`", "`perplexity`, `topic`, `grade`", "field add CORPUS nothing"],
    );
    corpusdb(&["field", "set", &corpus, "grade", "--from", &wrong, "--id", "id", "--value", "w"])
        .fails(&["no record has a value in a field `w`"]);
    let unknown = scratch.write("unknown.jsonl", "{\"id\":99999,\"grade\":3}\n");
    let ran = corpusdb(&["field", "set", &corpus, "grade", "--from", &unknown, "--id", "id"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    sound(&corpus);
});

// One record without a value beside those of unknown documents, and nothing done counted as success.
corpusdb_test!(a_join_without_a_match_fails, |scratch| {
    let corpus = corpus(&scratch, "corpus");
    let file = scratch.write("s.jsonl", "{\"k\":\"none\",\"grade\":1}\n{\"k\":\"u1\"}\n");
    let ran = corpusdb(&["field", "set", &corpus, "grade", "--from", &file, "--key", "k"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    let file =
        scratch.write("t.jsonl", "{\"k\":\"none\",\"grade\":1}\n{\"k\":\"u1\",\"grade\":2}\n");
    corpusdb(&["field", "set", &corpus, "grade", "--from", &file, "--key", "k"]).good();
});

// Each score needed a file and a pass of its own.
corpusdb_test!(several_fields_are_set_at_once_however_the_records_are_cut, |scratch| {
    let give = |number: usize| {
        let mut fields = vec![format!("\"key\":\"u{}\"", number * 7 % (COUNT + 4))];
        if !number.is_multiple_of(3) {
            fields.push(format!("\"score\":{number}.5"));
        }
        if !number.is_multiple_of(4) {
            fields.push(format!("\"topic\":\"t{}\"", number % 6));
        }
        if number.is_multiple_of(11) {
            fields.push("\"grade\":null".to_owned());
        } else {
            fields.push(format!("\"grade\":{number}"));
        }
        format!("{{{}}}\n", fields.join(","))
    };
    let file = scratch.write("scores.jsonl", (0..400).map(give).collect::<String>());
    let mut digests = Vec::new();
    for (at, rows) in ["1", "3", "64", "8192"].into_iter().enumerate() {
        let corpus = corpus(&scratch, &format!("corpus-{at}"));
        let columns = "perplexity=score,grade,topic";
        let more = ["--from", &file, "--on", "key", "--columns", columns, "--batch-rows", rows];
        let ran = corpusdb(&[&["field", "set", &corpus, "--json"], &more[..]].concat()).good();
        let report = ran.json();
        assert_eq!(report["fields"], serde_json::json!(["perplexity", "grade", "topic"]));
        let [records, matched, unknown] = numbers(&report, ["records", "matched", "unknown"]);
        assert_eq!((records, matched + unknown), (400, 400));
        assert!((1..20).contains(&unknown), "{unknown}");
        sound(&corpus);
        digests.push(digest(&corpus));
        // Once more: nothing changes in the end, whatever changes on the way.
        corpusdb(&[&["field", "set", &corpus, "--json"], &more[..]].concat()).good();
        digests.push(digest(&corpus));
    }
    digests.dedup();
    assert_eq!(digests.len(), 1);
    let corpus = scratch.arg("corpus-0");
    let rows = sql(&corpus, "SELECT key, perplexity, grade, topic FROM documents ORDER BY id");
    for (number, row) in rows.iter().enumerate() {
        let of = (0..400).filter(|n| n * 7 % (COUNT + 4) == number);
        let score = of.clone().rfind(|n| !n.is_multiple_of(3));
        assert_eq!(row["perplexity"].as_f64(), score.map(|n| n as f64 + 0.5), "{row}");
        let grade = of.clone().next_back().filter(|n| !n.is_multiple_of(11));
        assert_eq!(row["grade"].as_u64(), grade.map(|n| n as u64), "{row}");
        let topic = of.clone().rfind(|n| !n.is_multiple_of(4));
        let topic = topic.map_or("old".to_owned(), |n| format!("t{}", n % 6));
        assert_eq!(row["topic"], topic, "{row}");
    }
    corpusdb(&["field", "set", &corpus, "--from", &file, "--on", "key"])
        .fails(&["name the field to set", "--columns"]);
    corpusdb(&["field", "set", &corpus, "grade", "--from", &file]).fails(&["--on"]);
});
