//! Memory of the verbs, with records that are very long, or of very different lengths.

use crate::support::{
    HELD, Page, Ran, Random, TestDir, corpusdb, corpusdb_within, init, lines, numbers, prose,
};
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::json;
use std::fmt::Write;
use std::sync::Arc;

/// Documents added under `--memory 256MB`, in a process that is not to hold more than [`HELD`].
fn ingest_within(scratch: &TestDir, path: &str) -> u64 {
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let ingest = ["ingest", &corpus, path, "--source", "main", "--memory", "256MB", "--json"];
    let (ran, _) = corpusdb_within(&ingest, HELD);
    ran.good().json()["added"].as_u64().unwrap()
}

/// Rows were decoded many at a time by their average length: 1.5 GB of the long ones among short ones.
#[test]
fn parquet_rows_of_very_different_length_stay_within_memory() {
    let scratch = TestDir::new();
    let path = scratch.path("skewed.parquet");
    let short = (0..20_000).map(|n| format!("a short text, number {n}"));
    let long = (0..500).map(|n| format!("{n} {}", "x".repeat(1 << 20)));
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).unwrap()))
        .set_max_row_group_row_count(Some(1 << 20))
        .build();
    let batch = |texts: Vec<String>| {
        let texts: ArrayRef = Arc::new(StringArray::from(texts));
        RecordBatch::try_from_iter([("text", texts)]).unwrap()
    };
    let first = batch(short.collect());
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, first.schema(), Some(properties)).unwrap();
    writer.write(&first).unwrap();
    for text in long {
        writer.write(&batch(vec![text])).unwrap();
    }
    writer.close().unwrap();
    assert_eq!(ingest_within(&scratch, &path.display().to_string()), 20_500);
}

/// Verification read 512 rows at a time, whatever their length: 2.29 GB of rows of 262,144 tokens.
#[test]
fn epochs_of_very_long_rows_stay_within_memory() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let text = prose(&mut Random::new(3), 0, 130_000);
    let file = scratch.write("long.jsonl", lines(&[Page::new(text), Page::new("a few words")]));
    corpusdb(&["ingest", &corpus, &file, "--source", "main"]).good();
    corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "300"]).good();
    let recipe = "version = 1\n[select]\nmin_tokens = 1000\nrepeat = \"48\"\n[pack]\nkind = \"greedy\"\nlength = 262144\n\
         options = { long = \"truncate\" }\n[output]\ncolumns = [\"labels\", \"position_ids\", \"segment_ids\", \"seq_idx\"]\n";
    let recipe = scratch.write("recipe.toml", recipe);
    let out = scratch.arg("out");
    let within = |arguments: &[&str]| {
        let all = [&["epoch"], arguments, &["--memory", "256MB"]].concat();
        corpusdb_within(&all, HELD).0.good()
    };
    within(&["build", &corpus, &recipe, "--out", &out]);
    let verified = within(&["verify", &corpus, &out]);
    assert!(verified.stdout.contains("48 segments"), "{}", verified.stdout);
    within(&["stream", &corpus, "1", "--batches", "12", "--format", "arrow"]);
    within(&["row", &corpus, "1", "40"]);
}

/// What a command with `--memory 64MB` may hold: the least that its parts take, the program with its threads,
/// and a few texts of a megabyte.
const SMALL: u64 = 320 << 20;

/// A corpus of 120 texts of a megabyte among short ones, more than a command may hold, with a tokenizer and
/// 120 rejects as long.
fn long_texts(scratch: &TestDir) -> String {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "quality:float"]);
    let mut lines = String::new();
    for n in 0..1000 {
        let text = format!("a short text, the number {n} of them, of a few words {}", n * 7);
        writeln!(lines, "{}", json!({ "id": n.to_string(), "text": text })).unwrap();
    }
    let short = scratch.write("short.jsonl", &lines);
    within(&["ingest", &corpus, &short, "--source", "short", "--id-field", "id"]);
    let train = ["tokenizer", "train", &corpus, "own", "--model", "bpe", "--vocab-size", "300"];
    within(&train);
    lines.clear();
    for n in 0..120 {
        let text = format!("long{n} of word{n} and term{n} ").repeat(40_000);
        writeln!(lines, "{}", json!({ "id": format!("L{n}"), "text": text })).unwrap();
        writeln!(lines, "no JSON {n} {}", "raw bytes ".repeat(100_000)).unwrap();
    }
    let long = scratch.write("long.jsonl", lines);
    let ingest = ["ingest", &corpus, &long, "--source", "long", "--id-field", "id"];
    let ran = within(&[&ingest[..], &["--on-error", "reject", "--json"]].concat());
    assert_eq!(numbers(&ran.json(), ["added", "rejected"]), [120, 120]);
    corpus
}

/// Runs a command under `--memory 64MB`, which is not to hold more than [`SMALL`].
#[track_caller]
fn within(arguments: &[&str]) -> Ran {
    let (ran, peak) = corpusdb_within(&[arguments, &["--memory", "64MB"]].concat(), SMALL);
    // The figures are shown with --nocapture. What finds nothing similar ends with 1.
    eprintln!("{} MiB: {}", peak >> 20, arguments.join(" "));
    assert!(matches!(ran.code, Some(0 | 1)), "{ran}");
    ran
}

/// Most verbs were never measured: one that held what it goes through would have gone unseen.
#[test]
fn verbs_that_read_long_texts_stay_within_the_memory_given() {
    let scratch = TestDir::new();
    let corpus = long_texts(&scratch);
    let page = scratch.write("page.txt", "long3 of word3 and term3 ".repeat(40_000));
    let all = "SELECT id, text FROM documents";
    for arguments in [
        &["info", &corpus][..],
        &["rejects", &corpus, "--limit", "200", "--json"],
        &["sql", &corpus, all, "--format", "csv"],
        &["sql", &corpus, "SELECT sum(length(raw)) FROM rejects"],
        &["sql", &corpus, "SELECT max(text) FROM documents GROUP BY source"],
        &["count", &corpus, "--where", "length(text) > 1000"],
        &["sample", &corpus, "-n", "20", "--where", "source = 'long'"],
        &["show", &corpus, "L7"],
        &["show", &corpus, "L7", "--tokens", "--json"],
        &["similar", &corpus, "--file", &page],
        &["similar", &corpus, "L5", "--all"],
        &["duplicates", &corpus, "--list"],
        &["dedup", "explain", &corpus],
        &["tokenizer", "analyse", &corpus, "own"],
        &["tokenizer", "check", &corpus, "own"],
        &["tokenizer", "backfill", &corpus, "own"],
        &["check", &corpus, "--deep"],
        &["check", &corpus, "--digest"],
    ] {
        within(arguments);
    }
}

#[test]
fn changes_of_long_texts_stay_within_memory() {
    let scratch = TestDir::new();
    let corpus = long_texts(&scratch);
    let file = scratch.arg("tokenizer.json");
    within(&["tokenizer", "export", &corpus, "own", &file]);
    let scores: String =
        (0..1000).map(|n| format!("{{\"id\":\"{n}\",\"quality\":0.5}}\n")).collect();
    let scores = scratch.write("scores.jsonl", scores);
    let recipe = scratch.write(
        "recipe.toml",
        "version = 1\nseed = 1\n[tokenizer]\nname = \"own\"\n[[source]]\nname = \"long\"\nweight = 1.0\n[pack]\nkind = \"best-fit\"\nlength = 512\n[output]\nformat = \"jsonl\"\n",
    );
    let out = scratch.arg("epoch");
    for arguments in [
        &["tokenizer", "add", &corpus, "again", &file][..],
        &["field", "set", &corpus, "quality", "--from", &scores, "--key", "id"],
        &["snapshot", "create", &corpus, "now"],
        &["epoch", "build", &corpus, &recipe, "--out", &out],
        &["dedup", "redo", &corpus, "--threshold", "0.7"],
        &["dedup", "settle", &corpus],
        &["remove", &corpus, "--where", "source = 'long'", "--block", "similar"],
        &["restore", &corpus, "--where", "source = 'long'"],
        &["compact", &corpus],
        &["migrate", &corpus],
    ] {
        within(arguments);
    }
}

/// A Unigram looked at all of a text at once, and the other models listed all of its words: 1.4 GB and 0.6 GB of
/// 60 MB under `--memory 256MB`.
#[test]
fn one_very_long_text_is_encoded_within_the_memory_given() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let mut random = Random::new(11);
    let page = |random: &mut Random| Page::new(prose(random, 0, 300));
    let short: Vec<Page> = (0..100).map(|_| page(&mut random)).collect();
    let short = scratch.write("short.jsonl", lines(&short));
    within(&["ingest", &corpus, &short, "--source", "main"]);
    for model in ["bpe", "unigram", "wordpiece"] {
        within(&["tokenizer", "train", &corpus, model, "--model", model, "--vocab-size", "300"]);
    }
    let words: Vec<String> = (0..997).map(|n| format!("w{}", n * n % 1009)).collect();
    let text = words.join(" ").repeat(12_000_000 / words.concat().len());
    let long = scratch.write("long.jsonl", format!("{}\n", json!({ "text": text })));
    within(&["ingest", &corpus, &long, "--source", "main"]);
}
