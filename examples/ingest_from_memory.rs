//! Ingests records that a program makes, without a file: one by one, and as Arrow record batches.
//!
//! Run: `cargo run --release --example ingest_from_memory`
#![expect(clippy::print_stdout, reason = "an example talks")]

use corpusdb::arrow::array::{ArrayRef, RecordBatch, RecordBatchIterator, StringArray};
use corpusdb::ingest::{ReadOptions, Record, Records};
use corpusdb::{Context, Corpus, DedupMode, FieldKind, IngestOptions, Policy};
use std::error::Error;
use std::sync::Arc;

/// Makes a corpus in a directory of its own, and ingests into it.
pub fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("corpus");
    let fields = [("lang".to_owned(), FieldKind::Keyword)];
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &fields)?;
    let mut writer = Corpus::options().memory(256 << 20).threads(2).open_writer(&path)?;

    // One by one, pulled as they are needed: this could be a crawler, a queue, or a table of another database.
    let pages = (0..1000).map(|n| {
        let (street, keeper) = (n % 7, n / 7);
        let text =
            format!("In street {street} keeper {keeper} lights {n} lamps before the sun is down.");
        Record::new(text).with_key(format!("lamps/{n}")).with_field("lang", "en")
    });
    let options = IngestOptions::new("lamps");
    let records = Records::new("the lamp keepers", pages);
    let report = writer.ingest(records, &options, &Context::new())?;
    println!("one by one: {} read, {} kept", report.read, report.kept);
    assert_eq!(report.added, 1000);

    // As record batches, with the columns named as for a Parquet file. A stored key with equal content is passed over.
    let texts =
        ["Das Boot liegt am Ufer.", "Der Fluss ist heute still.", "Das Boot liegt am Ufer."];
    let columns: [(&str, ArrayRef); 3] = [
        ("body", Arc::new(StringArray::from(texts.to_vec()))),
        ("url", Arc::new(StringArray::from(vec!["boot/1", "boot/2", "boot/3"]))),
        ("lang", Arc::new(StringArray::from(vec!["de"; 3]))),
    ];
    let batch = RecordBatch::try_from_iter(columns)?;
    let read = ReadOptions {
        text_field: Some("body".to_owned()),
        id_field: Some("url".to_owned()),
        ..ReadOptions::default()
    };
    let options = IngestOptions { read, ..IngestOptions::new("boats") };
    for expected in [(3, 0), (0, 3)] {
        let batches = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
        let records = Records::batches("the boats", batches);
        let report = writer.ingest(records, &options, &Context::new())?;
        println!("as batches: {} added, {} unchanged", report.added, report.unchanged);
        assert_eq!((report.added, report.unchanged), expected);
    }

    drop(writer);
    let corpus = Corpus::options().memory(256 << 20).open(&path)?;
    println!("{} German texts are kept", corpus.count("kept AND lang = 'de'")?);
    Ok(())
}
