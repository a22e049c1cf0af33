//! Values of declared fields in the spellings of other programs, which were null without a word.

use crate::support::{Scratch, copy, corpusdb, ingest, init, repository, sound};
use serde_json::{Value, json};

fn text(number: usize) -> String {
    (0..20).map(|at| format!("w{} ", number * 100 + at)).collect()
}

fn sql(corpus: &str, statement: &str) -> Vec<Value> {
    corpusdb(&["sql", corpus, statement, "--format", "json"]).good().json_lines()
}

#[test]
fn values_in_the_spellings_of_other_programs_are_taken() {
    let scratch = Scratch::new();
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
    assert_eq!(report["kept"], 5, "{report}");
    let same = "views = 7 AND fine AND seen = '2024-03-31T01:30:00'";
    assert_eq!(corpusdb(&["count", &corpus, "--where", same]).good().stdout, "5\n");
    sound(&corpus);
}

/// The store of the last release that knew fewer spellings has nulls, or another year, where today's rule finds a value.
#[test]
fn what_an_earlier_release_indexed_is_sound_and_is_indexed_anew_with_the_field() {
    let scratch = Scratch::new();
    let corpus = scratch.arg("corpus");
    copy(&repository("tests/formats/fields/corpus"), &scratch.path("corpus"));
    let rows = || sql(&corpus, "SELECT views, score, fine, seen FROM documents ORDER BY id");
    sound(&corpus);
    let before = rows();
    let none = json!({ "views": null, "score": null, "fine": null, "seen": null });
    assert_eq!((&before[1], &before[2], &before[5]), (&none, &none, &none));
    assert_eq!(before[3]["seen"], "+56216-04-28T12:00:00");
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
        corpusdb(&["field", "drop", &corpus, name]).good();
        corpusdb(&["field", "add", &corpus, field]).good();
    }
    sound(&corpus);
    let moment = "2024-03-31T01:30:00";
    let row = |views: u64, score: f64, fine: Value| json!({ "views": views, "score": score, "fine": fine, "seen": moment });
    assert_eq!(rows()[1], row(7, 0.5, json!(true)));
    assert_eq!(rows()[2], row(8, 1000.0, json!(false)));
    assert_eq!(rows()[3], row(1000, 3.0, Value::Null));
    assert_eq!(rows()[5], none);
}
