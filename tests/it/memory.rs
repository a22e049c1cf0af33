//! Memory of verbs that read what is very long, or of very different lengths.

use crate::support::{HELD, Page, Random, Scratch, corpusdb, corpusdb_within, init, lines, prose};
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

/// Documents added under `--memory 256MB`, in a process that is not to hold more than [`HELD`].
fn ingest_within(scratch: &Scratch, path: &str) -> u64 {
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let ingest = ["ingest", &corpus, path, "--source", "main", "--memory", "256MB", "--json"];
    let (ran, _) = corpusdb_within(&ingest, HELD);
    ran.good().json()["added"].as_u64().unwrap()
}

/// Rows were decoded many at a time by their average length: 1.5 GB of the long ones among short ones.
#[test]
fn a_parquet_file_of_very_different_rows_stays_within_the_memory_given() {
    let scratch = Scratch::new();
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
fn epochs_of_very_long_rows_are_built_streamed_and_verified_within_the_memory_given() {
    let scratch = Scratch::new();
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
