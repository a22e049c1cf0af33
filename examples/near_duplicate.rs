//! Is one text a near duplicate of what a corpus holds? Nothing is ingested by asking.
//!
//! Run: `cargo run --release --example near_duplicate`
#![expect(clippy::print_stdout, reason = "an example talks")]

use corpusdb::ingest::{Record, Records};
use corpusdb::inspect::{SimilarOptions, SimilarTo};
use corpusdb::{Context, Corpus, DedupMode, IngestOptions, Policy};
use std::error::Error;

/// A corpus of eight hundred recipes, and two texts that may be among them.
pub fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.7)?, &[])?;
    let mut writer = Corpus::options().memory(256 << 20).threads(2).open_writer(&path)?;
    let recipes = (0..800).map(|n| Record::new(recipe(n)).with_key(format!("recipe-{n}")));
    let (records, options) = (Records::new("recipes", recipes), IngestOptions::new("cook"));
    writer.ingest(records, &options, &Context::new())?;
    drop(writer);

    let corpus = Corpus::options().memory(256 << 20).open(&path)?;
    let copied = format!("{} Enjoy!", recipe(123));
    let own = "Nobody has written down before how this soup is made, and nobody will.";
    for (text, expected) in [(copied.as_str(), Some("recipe-123")), (own, None)] {
        let options = SimilarOptions { k: 3, ..SimilarOptions::default() };
        let report = corpus.similar(SimilarTo::Text(text), &options)?;
        let found = report.found.iter().find(|found| found.duplicate);
        match found {
            Some(found) => println!("{:.2} like {}: a near duplicate", found.jaccard, found.key),
            None => println!("nothing from {} up is like it: {text}", report.threshold),
        }
        assert_eq!(found.map(|found| found.key.as_str()), expected);
    }
    Ok(())
}

/// Recipes that share few runs of words.
fn recipe(n: u32) -> String {
    let amounts = (1..12).map(|step| {
        let amount = (n + 1) * (step * 37 + 11) % 997;
        format!("take {amount} grams of number {} and stir {} times", amount * step, n % (step + 7))
    });
    amounts.collect::<Vec<_>>().join(", then ")
}
