//! Memory of an ingest, with inputs whose records are of very different lengths.

use crate::support::{HELD, Scratch, corpusdb_within, init};
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
