//! Asks a corpus in SQL and takes the answer as Arrow record batches.
//!
//! Run: `cargo run --release --example sql_to_batches`
#![expect(clippy::print_stdout, reason = "an example talks")]

use corpusdb::arrow::array::AsArray;
use corpusdb::arrow::csv::Writer;
use corpusdb::arrow::datatypes::UInt64Type;
use corpusdb::ingest::{Record, Records};
use corpusdb::{Context, Corpus, DedupMode, FieldKind, IngestOptions, Policy};
use std::error::Error;

/// Fills a corpus, then reads from it in two ways.
pub fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("corpus");
    let fields = [("year".to_owned(), FieldKind::Int)];
    Corpus::init(&path, &Policy::new(DedupMode::Exact, 0.8)?, &fields)?;
    let mut writer = Corpus::options().memory(256 << 20).threads(2).open_writer(&path)?;
    let notes = (0..3000)
        .map(|n| Record::new(format!("Note {n} of the harbour.")).with_field("year", 2000 + n % 3));
    let options = IngestOptions::new("notes");
    let records = Records::new("notes", notes);
    writer.ingest(records, &options, &Context::new())?;
    drop(writer);
    let corpus = Corpus::options().memory(256 << 20).open(&path)?;

    // The columns are known before a row is made: enough to open a file or to allocate.
    let rows =
        corpus.sql("SELECT id, text FROM documents WHERE kept AND year = 2001 ORDER BY id")?;
    for field in rows.schema().fields() {
        println!("column {}: {}", field.name(), field.data_type());
    }
    // Batches come as they are made; memory is bounded whatever the answer holds.
    let (mut batches, mut documents, mut bytes) = (0, 0, 0);
    for batch in rows {
        let batch = batch?;
        batches += 1;
        documents += batch.column(0).as_primitive::<UInt64Type>().len();
        bytes += batch.column(1).as_string_view().iter().flatten().map(str::len).sum::<usize>();
    }
    println!("{documents} notes of 2001 in {batches} batches: {bytes} bytes");
    assert_eq!(documents, 1000);

    // Arrow's writers take batches as they are.
    let mut table = Writer::new(Vec::new());
    for batch in corpus.sql(
        "SELECT year, count(*) AS notes, sum(bytes) AS bytes FROM documents GROUP BY year ORDER BY year",
    )? {
        table.write(&batch?)?;
    }
    let table = String::from_utf8(table.into_inner())?;
    print!("{table}");
    assert!(table.starts_with("year,notes,bytes\n2000,1000,"));
    Ok(())
}
