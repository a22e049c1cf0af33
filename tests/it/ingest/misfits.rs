//! Values of declared fields: in the spellings of other programs, and those that the types of their fields cannot hold,
//! which were null without a word.

use crate::support::{
    TestDir, WEB_BY_ID, copy, corpusdb, corpusdb_test, declaring, digest, ingest, init, numbers,
    repository, sound, sql, writer,
};
use arrow::array::{Array, Float64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use std::fs::File;
use std::sync::Arc;

fn text(number: usize) -> String {
    (0..20).map(|at| format!("w{} ", number * 100 + at)).collect()
}

/// Records with fields that `of` gives.
fn records(count: usize, of: impl Fn(usize) -> Value) -> String {
    let record = |number: usize| {
        let mut record = json!({ "id": format!("k{number}"), "text": text(number) });
        let fields = of(number);
        record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        format!("{record}\n")
    };
    (0..count).map(record).collect()
}

fn parquet(scratch: &TestDir, name: &str, columns: Vec<(&str, Arc<dyn Array>)>) -> String {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = File::create(scratch.path(name)).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    scratch.arg(name)
}

fn options(more: &[&'static str]) -> Vec<&'static str> {
    [&WEB_BY_ID, more].concat()
}

corpusdb_test!(values_in_the_spellings_of_other_programs_are_taken, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "views:int", "--field", "fine:bool", "--field", "seen:timestamp"]);
    let views = ["7", "7.0", "7e0", "\"7\"", "700E-2"];
    let seen = [
        "\"2024-03-31T01:30:00Z\"",
        "\"2024-03-31 03:30:00+0200\"",
        "1711848600",
        "1711848600000",
        "\"Sun, 31 Mar 2024 01:30:00 GMT\"",
    ];
    let fine = ["true", "\"True\"", "\"true\"", "\"TRUE\"", "true"];
    let lines: String = (0..5)
        .map(|at| {
            let (text, views, fine, seen) = (text(at), views[at], fine[at], seen[at]);
            format!("{{\"text\":\"{text}\",\"views\":{views},\"fine\":{fine},\"seen\":{seen}}}\n")
        })
        .collect();
    let report = ingest(&corpus, &[&scratch.write("a.jsonl", lines)], &["--source", "web"]);
    assert_eq!(report.get("misfits"), None, "{report}");
    let same = "views = 7 AND fine AND seen = '2024-03-31T01:30:00'";
    assert_eq!(corpusdb(&["count", &corpus, "--where", same]).good().stdout, "5\n");
    sound(&corpus);
});

corpusdb_test!(values_of_another_type_are_counted_in_any_batches, |scratch| {
    let lines = records(300, |number| {
        let quality = if number % 50 == 3 { json!("n/a") } else { json!(number) };
        json!({ "quality": quality, "views": if number == 40 { json!([1]) } else { Value::Null } })
    });
    let file = scratch.write("web.jsonl", lines);
    let report = |name: &str, more: &[&'static str]| {
        let corpus = scratch.arg(name);
        init(&corpus, &["--mode", "none", "--field", "quality:float", "--field", "views:int"]);
        ingest(&corpus, &[&file], &options(more))
    };
    let whole = report("whole", &[]);
    let misfits = json!({
        "quality": { "kind": "float", "misfits": 6, "values": 300, "example": "\"n/a\"", "file": file, "record": 3 },
        "views": { "kind": "int", "misfits": 1, "values": 1, "example": "[1]", "file": file, "record": 40 },
    });
    assert_eq!((&whole["misfits"], &whole["alarms"]), (&misfits, &json!([])));
    assert_eq!(report("cut", &["--batch-bytes", "1", "--threads", "4"])["misfits"], misfits);
    // What is known is not counted again.
    let corpus = scratch.arg("whole");
    let again = ingest(&corpus, &[&file], &options(&["--reread"]));
    assert_eq!((numbers(&again, ["unchanged"]), again.get("misfits")), ([300], None));
    let shown =
        corpusdb(&[&["ingest", &corpus, &file][..], &["--source", "other"]].concat()).good();
    let line = format!(
        "  quality: 6 of 300 values are not numbers, e.g. \"n/a\" ({file}: record 3, counted from 0)"
    );
    assert!(shown.stdout.contains(&line), "{}", shown.stdout);
    // Nothing of it is stored: what lists it counts it anew.
    // The removal keeps the equal text of the other source out too.
    corpusdb(&["remove", &corpus, "3"]).good();
    let fields = corpusdb(&["field", "show", &corpus, "--json"]).good().json_lines();
    assert_eq!((&fields[0]["misfits"], &fields[1]["misfits"]), (&json!(12), &json!(2)));
    assert_eq!(fields[0]["misfit"], json!({ "document": 3, "value": "\"n/a\"" }));
    let listed = corpusdb(&["field", "show", &corpus]).good().stdout;
    let line = "quality: 12 of 600 values are not numbers, e.g. \"n/a\" (document 3)";
    assert!(listed.contains(line), "{listed}");
    let stats = |more: &[&str]| {
        corpusdb(&[&["stats", &corpus, "--json"], more].concat()).good().json()["misfits"].clone()
    };
    let told = json!({
        "field": "quality", "kind": "float", "documents": 12, "kept": 10,
        "example": { "document": 3, "value": "\"n/a\"" },
    });
    assert_eq!(stats(&[])[0], told);
    assert_eq!(stats(&["--source", "web"])[0]["documents"], 6);
    assert_eq!(stats(&["--where", "id > 3"])[0]["example"]["document"], 53);
    assert_eq!(stats(&["--where", "id > 600"]), Value::Null);
    corpusdb(&["stats", &corpus])
        .good()
        .prints(&["values that do not have the type of their field"]);
});

corpusdb_test!(an_absent_field_gets_the_nearest_name, |scratch| {
    let alarms = |name: &str, fields: &[&str], count: usize, of: fn(usize) -> Value| {
        let corpus = scratch.arg(name);
        let declared = declaring(fields);
        init(&corpus, &[&["--mode", "none"], &declared[..]].concat());
        let file = scratch.write(&format!("{name}.jsonl"), records(count, of));
        ingest(&corpus, &[&file], &options(&[]))["alarms"].clone()
    };
    let score = |number| json!({ "Qua-lity": number, "other": 1, "scores": { "edv": 1 } });
    let told = alarms("named", &["quality:float", "other:int"], 100, score);
    let absent = json!({
        "kind": "field-absent", "field": "quality", "member": "quality", "documents": 100, "similar": "Qua-lity",
    });
    assert_eq!(told, json!([absent]));
    assert_eq!(alarms("few", &["quality:float"], 99, score), json!([]));
    let told = alarms("strange", &["elsewhere:float"], 100, score);
    assert_eq!((&told[0]["field"], &told[0]["similar"]), (&json!("elsewhere"), &Value::Null));
    let nulls = alarms("nulls", &["quality:float"], 100, |_| json!({ "quality": null }));
    assert_eq!((&nulls[0]["kind"], &nulls[0]["similar"]), (&json!("field-absent"), &Value::Null));

    // Where earlier documents have values it is told of a similar name alone: `field set` may have given them.
    let corpus = scratch.arg("known");
    init(&corpus, &["--mode", "none", "--field", "edu:float"]);
    scratch.ingest(&corpus, "first.jsonl", records(1, |_| json!({ "edu": 1 })), &options(&[]));
    let later = |name: &str, of: fn(usize) -> Value| {
        let lines = records(120, of).replace("\"k", &format!("\"{name}-"));
        ingest(&corpus, &[&scratch.write(name, lines)], &options(&[]))["alarms"].clone()
    };
    assert_eq!(later("without.jsonl", |_| json!({ "topic": 1 })), json!([]));
    assert_eq!(later("misspelt.jsonl", |_| json!({ "edv": 1 }))[0]["similar"], "edv");
    let found = later("in-part.jsonl", |at| if at == 7 { json!({ "edu": 2 }) } else { json!({}) });
    assert_eq!(found, json!([]));
});

corpusdb_test!(a_field_most_of_whose_values_are_of_another_type_is_an_alarm, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none", "--field", "stars:int"]);
    let half = records(
        100,
        |number| json!({ "stars": if number % 2 == 0 { json!(1.5) } else { json!(1) } }),
    );
    let file = scratch.write("half.jsonl", half);
    let ingest = ["ingest", &corpus, &file, "--source", "web", "--id-field", "id"];
    let dry = corpusdb(&[&ingest[..], &["--json", "--dry-run"]].concat()).good().json();
    assert_eq!(dry["alarms"][0]["kind"], "field-misfits", "{dry}");
    assert_eq!(dry["alarms"][0]["misfits"]["misfits"], 50, "{dry}");
    // Any alarm is an answer that is bad, where that is asked for; what came in stays.
    let strict = corpusdb(&[&ingest[..], &["--strict"]].concat());
    assert_eq!(strict.code, Some(1), "{strict}");
    assert!(
        strict.stdout.contains("100 kept")
            && strict.stderr.contains("ALARM: stars: 50 of 100 values"),
        "{strict}"
    );
    assert_eq!(corpusdb(&["count", &corpus]).good().stdout, "100\n");
    let quiet =
        scratch.write("quiet.jsonl", records(3, |_| json!({ "stars": 1 })).replace("\"k", "\"q"));
    corpusdb(&["ingest", &corpus, &quiet, "--source", "web", "--id-field", "id", "--strict"])
        .good();
});

corpusdb_test!(joined_values_of_another_type_are_skipped, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none", "--field", "ppl:float", "--field", "stars:int"]);
    let file = scratch.write("a.jsonl", records(5, |at| json!({ "ppl": 1.5, "stars": at })));
    ingest(&corpus, &[&file], &options(&[]));
    let scores = concat!(
        "{\"key\":\"k0\",\"ppl\":9.5,\"stars\":7.0}\n{\"key\":\"k1\",\"ppl\":1e400,\"stars\":8}\n",
        "{\"key\":\"k2\",\"ppl\":\"NaN\"}\n{\"key\":\"k3\",\"ppl\":null}\n",
    );
    let from = scratch.write("scores.jsonl", scores);
    let set = ["field", "set", &corpus, "--from", &from, "--on", "key", "--columns", "ppl,stars"];
    let strict = corpusdb(&[&set[..], &["--strict"]].concat());
    strict.fails(&["record 1", "`ppl` is 1e400", "kind float"]);
    let report = corpusdb(&[&set[..], &["--json"]].concat()).good().json();
    assert_eq!(numbers(&report, ["records", "matched", "changed", "without_value"]), [4, 3, 3, 0]);
    let misfits = json!({
        "ppl": { "kind": "float", "misfits": 2, "values": 3, "example": "1e400", "file": from, "record": 1 },
    });
    assert_eq!(report["misfits"], misfits);
    let values = sql(&corpus, "SELECT ppl, stars FROM documents ORDER BY id");
    let value = |ppl: Value, stars: u64| json!({ "ppl": ppl, "stars": stars });
    let expected = [
        value(json!(9.5), 7),
        value(json!(1.5), 8),
        value(json!(1.5), 2),
        value(Value::Null, 3),
        value(json!(1.5), 4),
    ];
    assert_eq!(values, expected);
    corpusdb(&set).good().prints(&["  ppl: 2 of 3 values are not numbers, e.g. 1e400 ("]);
    sound(&corpus);
});

// A model's score of NaN took away the score that a document had, and the report said "changed".
corpusdb_test!(nans_of_parquet_are_counted_and_erase_nothing, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none", "--field", "ppl:float"]);
    let ids = || Arc::new(StringArray::from(vec!["k0", "k1", "k2", "k3"]));
    let numbers_of = [Some(9.5), Some(f64::INFINITY), None, Some(f64::NAN)];
    let scores = || Arc::new(Float64Array::from(numbers_of.to_vec()));
    let texts = Arc::new(StringArray::from((0..4).map(text).collect::<Vec<_>>()));
    scratch.ingest(&corpus, "a.jsonl", records(4, |_| json!({ "ppl": 1.5 })), &options(&[]));
    let from = parquet(&scratch, "scores.parquet", vec![("key", ids()), ("score", scores())]);
    let set = ["field", "set", &corpus, "--from", &from, "--on", "key", "--columns", "ppl=score"];
    let before = digest(&corpus);
    corpusdb(&[&set[..], &["--strict", "--batch-rows", "1"]].concat())
        .fails(&["record 1", "`score` is Infinity"]);
    assert_ne!(digest(&corpus), before);
    let report = corpusdb(&[&set[..], &["--json"]].concat()).good().json();
    assert_eq!(numbers(&report, ["unchanged", "without_value"]), [1, 1], "{report}");
    assert_eq!(report["misfits"]["ppl"]["misfits"], 2, "{report}");
    assert_eq!(report["misfits"]["ppl"]["example"], "Infinity", "{report}");
    let values = sql(&corpus, "SELECT ppl FROM documents ORDER BY id");
    let value = |ppl: f64| json!({ "ppl": ppl });
    assert_eq!(values, [value(9.5), value(1.5), value(1.5), value(1.5)]);
    sound(&corpus);

    // Those that come with a record are told too; under another name, and where the columns stand in an Arrow stream.
    let columns = vec![("id", ids() as Arc<dyn Array>), ("text", texts), ("score", scores())];
    let file = parquet(&scratch, "first.parquet", columns);
    let other = scratch.arg("other");
    init(&other, &["--mode", "none", "--field", "ppl:float"]);
    let report = ingest(&other, &[&file], &options(&["--map", "ppl=score"]));
    let misfits = json!({
        "kind": "float", "misfits": 2, "values": 3, "example": "Infinity", "file": file, "record": 1,
    });
    assert_eq!(report["misfits"]["ppl"], misfits, "{report}");
    sound(&other);
});

// The store of the last release that knew fewer spellings has nulls, or another year, where today's rule finds a value.
corpusdb_test!(values_indexed_by_an_earlier_release_are_sound, |scratch| {
    let corpus = scratch.arg("corpus");
    copy(&repository("tests/formats/fields/corpus"), &scratch.path("corpus"));
    drop(writer(&scratch.path("corpus")));
    let rows = || sql(&corpus, "SELECT views, score, fine, seen FROM documents ORDER BY id");
    sound(&corpus);
    let before = rows();
    let none = json!({ "views": null, "score": null, "fine": null, "seen": null });
    let outdated =
        || corpusdb(&["info", &corpus, "--json"]).good().json()["outdated_fields"].clone();
    let mut fields = ["views", "score", "fine", "seen"].to_vec();
    assert_eq!((&before[1], &before[2], &before[5]), (&none, &none, &none));
    assert_eq!(before[3]["seen"], "+56216-04-28T12:00:00Z");
    // A document gets another value of one field, and loses those that today's rule does not read.
    let set = scratch.write(
        "set.jsonl",
        "{\"key\":\"texts\",\"views\":8}\n{\"key\":\"early\",\"seen\":null}\n{\"key\":\"units\",\"score\":3}\n",
    );
    corpusdb(&[
        "field",
        "set",
        &corpus,
        "--from",
        &set,
        "--on",
        "key",
        "--columns",
        "views,seen,score",
    ])
    .good();
    sound(&corpus);
    assert_eq!((&rows()[2]["views"], &rows()[4]["seen"]), (&json!(8), &Value::Null));
    for field in ["views:int", "score:float", "fine:bool", "seen:timestamp"] {
        let (name, _) = field.split_once(':').unwrap();
        assert_eq!(outdated(), json!(fields));
        corpusdb(&["field", "drop", &corpus, name]).good();
        corpusdb(&["field", "add", &corpus, field]).good();
        fields.retain(|field| *field != name);
    }
    assert_eq!(outdated(), json!([]));
    sound(&corpus);
    let moment = "2024-03-31T01:30:00Z";
    let row = |views: u64, score: f64, fine: Value| json!({ "views": views, "score": score, "fine": fine, "seen": moment });
    assert_eq!(rows()[1], row(7, 0.5, json!(true)));
    assert_eq!(rows()[2], row(8, 1000.0, json!(false)));
    assert_eq!(rows()[3], row(1000, 3.0, Value::Null));
    assert_eq!(rows()[5], none);
});
