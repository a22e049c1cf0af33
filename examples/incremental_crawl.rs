//! A crawl comes again: what is unchanged costs a look-up, what changed supersedes, and copies are told with what they match.
//!
//! Run: `cargo run --release --example incremental_crawl`
#![expect(clippy::print_stdout, reason = "an example talks")]

use corpusdb::ingest::{Record, Records};
use corpusdb::{Context, Corpus, CorpusWriter, DedupMode, IngestOptions, IngestReport, Policy};
use std::error::Error;

const JUNE: [(&str, &str); 3] = [
    ("news.example/quay", "The quay is closed to lorries: its wall has sunk by four centimetres."),
    ("news.example/school", "Three schools share a music teacher, who goes between them by train."),
    (
        "garden.example/beans",
        "Sow five beans around each pole in May, and keep the best three plants.",
    ),
];

/// One page is unchanged, one has other content, one is a copy of a page of June, one is new.
const JULY: [(&str, &str); 4] = [
    ("news.example/school", "Three schools share a music teacher, who goes between them by train."),
    (
        "news.example/quay",
        "Lorries may use the quay again: divers have replaced two of its stones.",
    ),
    (
        "mirror.example/beans",
        "Sow five beans around each pole in May, and keep the best three plants. Hi",
    ),
    (
        "weather.example/july",
        "July brought eleven days of rain to the coast and two to the valley.",
    ),
];

/// Ingests two months of a crawl and lists what was removed, because of what.
pub fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
    let mut writer = Corpus::options().memory(256 << 20).threads(2).open_writer(&path)?;

    let june = crawl(&mut writer, &JUNE)?;
    println!("June: {} added, {} kept", june.added, june.kept);
    let july = crawl(&mut writer, &JULY)?;
    println!(
        "July: {} added, of them {} new content of known pages and {} near duplicates; {} unchanged",
        july.added, july.updated, july.near_duplicates, july.unchanged
    );
    assert_eq!((july.added, july.updated, july.near_duplicates, july.unchanged), (3, 1, 1, 1));
    drop(writer);

    let corpus = Corpus::options().memory(256 << 20).open(&path)?;
    for pair in corpus.duplicates(None)? {
        let pair = pair?;
        println!("{} is a copy of {}: {:.2}", pair.key, pair.witness_key, pair.jaccard);
        assert_eq!(pair.witness_key, "garden.example/beans");
    }
    for document in corpus.documents("standing = 'superseded'")? {
        let document = document?;
        println!("{} had another text before: {}", document.key, document.text);
    }
    Ok(())
}

/// Every month under the same name, so that each page is known by its key.
fn crawl(
    writer: &mut CorpusWriter,
    pages: &[(&str, &str)],
) -> Result<IngestReport, corpusdb::Error> {
    let records = pages.iter().map(|(url, text)| Record::new(*text).with_key(*url));
    let records = Records::new("crawl", records);
    let options = IngestOptions::new("web");
    writer.ingest(records, &options, &Context::new())
}
