//! What the stages of a fingerprint cost a document of one's own, in nanoseconds.
//!
//! Reads one JSONL file with a field `text` a line and prints one JSON object: documents, bytes, tokens,
//! shingles, and for each stage the nanoseconds a document took, median and least of the passes. One thread;
//! texts are in memory before the first pass. Stages: `tokens` (normalise and hash), `shingles` (that, and the
//! sorted set), `sketch` (from the set), `bands` (from the sketch), `whole` (text to sketch, bands and the hash
//! of the normalised text).
//!
//! Run: `cargo bench --bench kernel -- FILE.jsonl [--passes N] [--threshold T]`. Without a file it says so and
//! ends well, so that `cargo bench --bench '*'` passes. `benches/peers/speed.py` races other tools against it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_precision_loss,
    reason = "a bench prints its figures, which are approximate"
)]

use corpusdb::dedup::{Fingerprinter, Sketch, bands_into};
use corpusdb::{DedupMode, Policy};
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::time::Instant;

struct Options {
    file: Option<String>,
    passes: usize,
    threshold: f64,
}

impl Options {
    fn parse() -> Result<Self, Box<dyn Error>> {
        let mut options = Self { file: None, passes: 7, threshold: 0.8 };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                // What `cargo bench` adds.
                "--bench" => {}
                "--passes" => options.passes = words.next().ok_or("--passes N")?.parse()?,
                "--threshold" => {
                    options.threshold = words.next().ok_or("--threshold T")?.parse()?
                }
                _ => options.file = Some(word),
            }
        }
        Ok(options)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse()?;
    let Some(file) = &options.file else {
        eprintln!("kernel: no FILE.jsonl given; nothing measured");
        return Ok(());
    };
    let texts = read(file)?;
    let policy = Policy::new(DedupMode::Witness, options.threshold)?;
    let mut maker = Fingerprinter::new(&policy);
    let tokens: usize = texts.iter().map(|text| maker.tokens(text).len()).sum();
    let sets: Vec<Vec<u64>> = texts.iter().map(|text| maker.shingles(text)).collect();
    let sketches: Vec<Sketch> = sets.iter().map(|set| Sketch::of(set)).collect();
    let mut hashes = Vec::new();

    let stages = [
        (
            "tokens",
            time(&options, &texts, |text| {
                black_box(maker.tokens(text));
            }),
        ),
        (
            "shingles",
            time(&options, &texts, |text| {
                black_box(maker.shingles(text));
            }),
        ),
        (
            "sketch",
            time(&options, &sets, |set| {
                black_box(Sketch::of(set));
            }),
        ),
        (
            "bands",
            time(&options, &sketches, |sketch| {
                bands_into(sketch, &policy, &mut hashes);
                black_box(&hashes);
            }),
        ),
        (
            "whole",
            time(&options, &texts, |text| {
                if let Some(sketch) = black_box(maker.fingerprint(text)).sketch {
                    bands_into(&sketch, &policy, &mut hashes);
                    black_box(&hashes);
                }
            }),
        ),
    ];
    let mut each = serde_json::Map::new();
    for (name, (median, least)) in stages {
        each.insert(name.to_owned(), serde_json::json!({ "median": median, "least": least }));
    }
    let answer = serde_json::json!({
        "type": "kernel",
        "policy": policy.to_string(),
        "passes": options.passes,
        "documents": texts.len(),
        "bytes": texts.iter().map(String::len).sum::<usize>(),
        "tokens": tokens,
        "shingles": sets.iter().map(Vec::len).sum::<usize>(),
        "nanoseconds": each,
    });
    println!("{answer}");
    Ok(())
}

fn read(file: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let mut texts = Vec::new();
    for line in BufReader::new(std::fs::File::open(file)?).lines() {
        let record: serde_json::Value = serde_json::from_str(&line?)?;
        let text = record.get("text").and_then(|text| text.as_str());
        texts.push(text.ok_or("a line without a field `text`")?.to_owned());
    }
    if texts.is_empty() {
        return Err("an empty file".into());
    }
    Ok(texts)
}

/// Nanoseconds a document over the passes: their median and their least.
fn time<T>(options: &Options, inputs: &[T], mut stage: impl FnMut(&T)) -> (f64, f64) {
    let mut passes: Vec<f64> = (0..options.passes.max(1))
        .map(|_| {
            let start = Instant::now();
            inputs.iter().for_each(&mut stage);
            start.elapsed().as_nanos() as f64 / inputs.len().max(1) as f64
        })
        .collect();
    passes.sort_by(f64::total_cmp);
    let median = passes.get(passes.len() / 2).copied().unwrap_or_default();
    (median, passes.first().copied().unwrap_or_default())
}
