//! Texts that a tokenizer refuses, and tokenizers that refuse texts.

use crate::support::{TestDir, corpusdb, ingest, init, json_lines, sound};
use serde_json::{Value, json};

/// One that tries every way to share out a run of `q` that does not end the text, and then gives up.
fn picky() -> String {
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(q+)+$"}, "behavior": "Isolated", "invert": false},
        "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"}
    })
    .to_string()
}

fn bad() -> String {
    format!("{}!", "q".repeat(60))
}

fn record(id: &str, text: &str) -> String {
    format!("{}\n", json!({"id": id, "text": text}))
}

fn tokens(corpus: &str) -> Vec<Value> {
    let query = "SELECT tokens_picky AS n FROM documents WHERE kept ORDER BY id";
    let rows = corpusdb(&["sql", corpus, query, "--format", "json"]).good();
    json_lines(&rows.stdout).iter().map(|row| row["n"].clone()).collect()
}

/// The error named neither file nor record, and came again with every later ingest.
#[test]
fn texts_refused_by_a_tokenizer_are_stored_without_ids() {
    let scratch = TestDir::new();
    let (corpus, tokenizer) = (scratch.arg("corpus"), scratch.write("picky.json", picky()));
    init(&corpus, &[]);
    corpusdb(&["tokenizer", "add", &corpus, "picky", &tokenizer]).good();
    let more = ["--source", "main", "--id-field", "id"];
    let path =
        scratch.write("a.jsonl", record("1", "one") + &record("2", &bad()) + &record("3", "three"));
    let fails = corpusdb(&[&["ingest", &corpus, &path, "--on-error", "fail"], &more[..]].concat());
    fails.fails(&["a.jsonl", "record 1", "picky", "--on-error reject"]);
    let report = ingest(&corpus, &[&path], &more);
    assert_eq!((&report["kept"], &report["rejected"]), (&json!(3), &json!(0)));
    assert_eq!(
        (&report["refused"]["picky"]["documents"], &report["refused"]["picky"]["first"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(tokens(&corpus), [json!(1), json!(0), json!(1)]);
    let next = scratch.write("b.jsonl", record("4", "four"));
    assert_eq!(ingest(&corpus, &[&next], &more)["kept"], 1);
    sound(&corpus);
}

/// A document that was removed as similar has no ids; when its witness goes it is kept, and encoded then.
#[test]
fn texts_refused_late_stop_nothing() {
    let scratch = TestDir::new();
    let (corpus, tokenizer) = (scratch.arg("corpus"), scratch.write("picky.json", picky()));
    init(&corpus, &[]);
    corpusdb(&["tokenizer", "add", &corpus, "picky", &tokenizer]).good();
    let more = ["--source", "main", "--id-field", "id"];
    let path = scratch.write("a.jsonl", record("1", &"q".repeat(60)) + &record("2", &bad()));
    assert_eq!(ingest(&corpus, &[&path], &more)["near_duplicates"], 1);
    let next = scratch.write("b.jsonl", record("1", "another text"));
    let report = ingest(&corpus, &[&next], &more);
    assert_eq!(report["refused"]["picky"]["documents"], 1, "{report}");
    assert_eq!(tokens(&corpus), [json!(0), json!(1)]);
    sound(&corpus);
    corpusdb(&["tokenizer", "drop", &corpus, "picky"]).good();
    let added =
        corpusdb(&["tokenizer", "add", &corpus, "picky", &tokenizer, "--json"]).good().json();
    assert_eq!(added["refused"]["documents"], 1, "{added}");
    assert_eq!(tokens(&corpus), [json!(0), json!(1)]);
    sound(&corpus);
}

/// It was accepted, and then no document could be stored.
#[test]
fn partial_tokenizers_are_refused_on_add() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let without_unk = picky()
        .replace("[UNK]\",", "a\",")
        .replace("\"unk_token\":\"[UNK]\"", "\"unk_token\":\"missing\"");
    let path = scratch.write("unk.json", without_unk);
    corpusdb(&["tokenizer", "add", &corpus, "words", &path])
        .fails(&["cannot encode every text", "unknown token"]);
    let path = scratch.write("regex.json", picky().replace("(q+)+$", "(a+)+$"));
    corpusdb(&["tokenizer", "add", &corpus, "runs", &path])
        .fails(&["cannot encode every text", "another split pattern"]);
    let listed = corpusdb(&["tokenizer", "list", &corpus]).good();
    assert!(!listed.stdout.contains("words") && !listed.stdout.contains("runs"), "{listed}");
}
